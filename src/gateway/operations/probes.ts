import { reasonOf } from '../../kernel/index.ts'
import { setDeadline } from '../../platform/runtime/index.ts'

/** A rejected promise makes the replica unready. */
export interface Probe {
  name: string
  check(): Promise<unknown>
  /** Why only reads work, or null. They still do, so the replica stays ready. Called after the check. */
  readOnlyReason?(): string | null
  /** Only some operations need this dependency. Without it, the replica is degraded, but stays ready. */
  isOptional?: boolean
}

export interface ProbeResult {
  name: string
  state: 'ok' | 'read-only' | 'degraded' | 'failed'
  reason?: string
}

export async function runProbe(
  { name, check, readOnlyReason, isOptional = false }: Probe,
  timeoutMs: number,
): Promise<ProbeResult> {
  const timeout = Promise.withResolvers<never>()
  const timer = setDeadline(() => timeout.reject(new Error('probe timed out')), timeoutMs)
  try {
    await Promise.race([check(), timeout.promise])
    const reason = readOnlyReason?.() ?? null
    return reason === null ? { name, state: 'ok' } : { name, state: 'read-only', reason }
  } catch (error) {
    return { name, state: isOptional ? 'degraded' : 'failed', reason: reasonOf(error) }
  } finally {
    clearTimeout(timer)
  }
}
