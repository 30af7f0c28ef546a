import type { Logger } from 'pino'
import { isDatabaseUnavailable, isServerFailure } from '../database/index.ts'
import { DependencyFailure, type Durations, Refusal, reasonOf } from '../kernel/index.ts'

/** Logs one line per dependency and change of the reason for its failure: stores, mail server, services and others. */
export interface DependencyLog {
  failed(dependency: string, error: unknown): void
  works(dependency: string): void
}

/** Between the last failure and the line that the dependency works again, because single commands can succeed. */
const minSettleMs = 5_000

/** Doubles while only some commands fail, for example for lack of a permission. Otherwise, each one would log two lines. */
const maxSettleMs = 300_000

/** Clients alternate between reasons, such as a refused connection and a closed one. */
const repeatMs = 60_000

/** Messages can contain ports and ids. */
const maxReasons = 20

interface Outage {
  reason: string
  failedAt: number
  settleMs: number
  /** When each reason was logged. */
  logged: Map<string, number>
}

export function createDependencyLog(
  logger: Pick<Logger, 'warn' | 'info'>,
  durations: Pick<Durations, 'now'>,
): DependencyLog {
  const outages = new Map<string, Outage>()
  const recoveries = new Map<string, { at: number; settleMs: number }>()
  const startOutage = (dependency: string, failedAt: number): Outage => {
    const recovery = recoveries.get(dependency)
    const isFlapping = recovery !== undefined && failedAt - recovery.at < maxSettleMs
    const settleMs = isFlapping ? Math.min(2 * recovery.settleMs, maxSettleMs) : minSettleMs
    return { reason: '', failedAt, settleMs, logged: new Map() }
  }
  return {
    failed: (dependency, error) => {
      const now = durations.now()
      const outage = outages.get(dependency) ?? startOutage(dependency, now)
      outages.set(dependency, outage)
      outage.failedAt = now
      const reason = reasonOf(error)
      if (reason === outage.reason) return
      outage.reason = reason
      const loggedAt = outage.logged.get(reason)
      if (loggedAt === undefined ? outage.logged.size >= maxReasons : now - loggedAt < repeatMs) return
      outage.logged.set(reason, now)
      logger.warn({ dependency, reason }, 'dependency failed')
    },
    works: (dependency) => {
      const outage = outages.get(dependency)
      const at = durations.now()
      if (!outage || at - outage.failedAt < outage.settleMs) return
      outages.delete(dependency)
      recoveries.set(dependency, { at, settleMs: outage.settleMs })
      logger.info({ dependency }, 'dependency works again')
    },
  }
}

/** A fault that is reported at each poll calls `log` once, and again if its reason changes or has not occurred for a minute. */
export function oncePerReason(
  { now }: Pick<Durations, 'now'>,
  log: (error: unknown) => void,
): (error: unknown) => void {
  let last = { reason: '', at: 0 }
  return (error) => {
    const current = { reason: reasonOf(error), at: now() }
    const isRepeated = current.reason === last.reason && current.at - last.at < repeatMs
    last = current
    if (!isRepeated) log(error)
  }
}

/** Logs the faults of a part that polls the database. A failed database has one line for all parts. */
export function faultReport(
  { dependencies, durations }: { dependencies: DependencyLog; durations: Pick<Durations, 'now'> },
  logger: { warn(fields: object, message: string): void },
  message: string,
  fields: object = {},
): (error: unknown) => void {
  const report = oncePerReason(durations, (error) => logger.warn({ ...fields, err: error }, message))
  return (error) => (isServerFailure(error) ? dependencies.failed('database', error) : report(error))
}

/** Whether an error has a known condition: a failed dependency, a timeout or a refusal. Every other one is a fault. */
export function isKnownCondition(error: unknown): boolean {
  if (error instanceof Refusal) return error.code !== 'SYSTEM.INTERNAL_ERROR' && !isProgrammingError(error.cause)
  if (!(error instanceof Error)) return false
  return (
    error instanceof DependencyFailure ||
    error.name === 'TimeoutError' ||
    isDatabaseUnavailable(error) ||
    isKnownCondition(error.cause)
  )
}

/** `fetch` also throws a TypeError, with the failure as its cause. */
function isProgrammingError(error: unknown): boolean {
  return [TypeError, RangeError, ReferenceError].some((kind) => error instanceof kind && error.cause === undefined)
}
