import { reasonOf } from '../../kernel/index.ts'
import { setDeadline } from '../../platform/runtime/index.ts'

/** A rejected promise makes the replica unready. */
export interface Probe {
  name: string
  check(): Promise<unknown>
  /** Whether only reads work. They still do, so the replica stays ready. */
  isReadOnly?(): boolean
  /** Only some operations need this dependency. Without it, the replica is degraded, but stays ready. */
  isOptional?: boolean
}

export interface ProbeResult {
  name: string
  state: 'ok' | 'read-only' | 'degraded' | 'failed'
  reason?: string
}

export async function runProbe(
  { name, check, isReadOnly, isOptional = false }: Probe,
  timeoutMs: number,
): Promise<ProbeResult> {
  const timeout = Promise.withResolvers<never>()
  const timer = setDeadline(() => timeout.reject(new Error('probe timed out')), timeoutMs)
  try {
    await Promise.race([check(), timeout.promise])
    return { name, state: isReadOnly?.() ? 'read-only' : 'ok' }
  } catch (error) {
    return { name, state: isOptional ? 'degraded' : 'failed', reason: reasonOf(error) }
  } finally {
    clearTimeout(timer)
  }
}
