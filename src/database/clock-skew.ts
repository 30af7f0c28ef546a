import { sql } from 'kysely'
import type { Logger } from 'pino'
import { type Clock, hours, minutes } from '../kernel/index.ts'
import type { Database } from './tables.ts'

export interface ClockSkew {
  /** Whether the clocks differ by less than `maxMs`. */
  isWithin(): boolean
  /** Rejects unless the clocks are within the maximum, so that load balancers send no requests. */
  check(): Promise<void>
  /** How far this process is ahead of the database in milliseconds; negative if it is behind. */
  aheadMs(): number
  close(): Promise<void>
}

/** Above this, one replica may reject tokens that another one has just issued. */
const warnMs = 1_000

const measureEveryMs = minutes(1)

/** With a clock that is a day ahead, sessions and keys expire too early. */
const maxAtStartMs = hours(12)

/**
 * Throws if the clocks differ by half a day or more. If a later measurement fails, the last result remains, because the
 * store's own probe reports the failure.
 */
export async function watchClockSkew(
  {
    database,
    clock,
    logger,
    onFault,
  }: {
    database: Database
    clock: Clock
    logger: Pick<Logger, 'info' | 'warn'>
    onFault(error: unknown): void
  },
  maxMs: number,
  everyMs = measureEveryMs,
): Promise<ClockSkew> {
  let aheadMs = 0
  let hasWarned = false
  const measure = async (): Promise<void> => {
    aheadMs = -(await measureClockSkew(database, clock))
    const isSkewed = Math.abs(aheadMs) >= warnMs
    if (isSkewed) logger.warn({ aheadMs }, 'clock skew between this process and the database')
    else if (hasWarned) logger.info({ aheadMs }, 'the clocks of this process and the database agree again')
    hasWarned = isSkewed
  }
  await measure()
  if (Math.abs(aheadMs) >= maxAtStartMs)
    throw new Error(`clock skew: this process is ${aheadMs} ms ahead of the database`)
  let measuring: Promise<void> | undefined
  const timer = setInterval(() => {
    measuring ??= measure()
      .catch(onFault)
      .finally(() => {
        measuring = undefined
      })
  }, everyMs).unref()
  const isWithin = () => Math.abs(aheadMs) < maxMs
  return {
    isWithin,
    check: async () => {
      if (!isWithin()) throw new Error(`clock skew: ${aheadMs} ms ahead of the database`)
    },
    aheadMs: () => aheadMs,
    close: async () => {
      clearInterval(timer)
      await measuring
    },
  }
}

/** In milliseconds; negative if the database's clock is behind. Returns 0 within the round-trip time of the query. */
export async function measureClockSkew(database: Database, clock: Clock): Promise<number> {
  const sentAt = clock.now()
  const { rows } = await sql<{ at: number }>`SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS at`.execute(
    database,
  )
  const receivedAt = clock.now()
  const at = Math.floor(rows[0]?.at ?? sentAt)
  return Math.min(0, at - sentAt) + Math.max(0, at - receivedAt)
}
