import { z } from 'zod'
import { lifetimeMs, timeoutMs } from './values.ts'

/** The SQL store. What is not to be had within its time is answered 503. */
export const databaseSettings = z.strictObject({
  poolSize: z
    .int()
    .min(1)
    .describe(
      'Connections that one process may hold to PostgreSQL, more than `jobs.concurrency`. Beside them one each for the check of the book, by itself and for an operator who asks, and the sweep of identity while they last, and one that keeps others away where there is no Redis.',
    ),
  connectTimeoutMs: timeoutMs(0).describe('For a connection to be there, or to become free; 0 sets no bound.'),
  statementTimeoutMs: timeoutMs(0).describe('For a statement to be answered; 0 sets no bound.'),
  lockTimeoutMs: timeoutMs(0).describe(
    "How long a statement may wait for a lock; shorter than the statement's own time, and 0 as long as that.",
  ),
  minimumFreeBytes: z
    .int()
    .min(0)
    .describe('Below so much free room the embedded store is read only, since PGlite does not survive a full disk.'),
  acceptEmbedded: z
    .boolean()
    .describe(
      'Allow the production profile to use the embedded store when `DATABASE_URL` is unset. It serves one process, and then flushes every commit to disk.',
    ),
  vacuumEveryMs: lifetimeMs(60_000).describe(
    'How often the embedded store uses the room of deleted rows again, which a server does by itself.',
  ),
})

/** REDIS_URL says where. */
export const redisSettings = z.strictObject({
  cluster: z.boolean().describe('Whether REDIS_URL names a node of a Redis Cluster.'),
  connectTimeoutMs: timeoutMs(0).describe('For a connection to be there; 0 sets no bound.'),
  commandTimeoutMs: z.int().min(10).max(1_000).describe('Without an answer by then the request that asked is refused.'),
})

/** SIGTERM and SIGINT. */
export const shutdownSettings = z.strictObject({
  delayMs: timeoutMs(0).describe(
    'From readiness dropping to the listener closing: longer than load balancers take to notice.',
  ),
  timeoutMs: timeoutMs(0).describe(
    'Accepted requests have so long to finish after that; then their connections are cut.',
  ),
})

/** What a replica remembers of the requests that it has decided: /explain/{requestId} on the operations listener. */
export const explainSettings = z.strictObject({
  entries: z.int().min(0).max(1_000_000).describe('Requests that are remembered, the newest ones; 0 remembers none.'),
  ttlMs: timeoutMs(1_000).describe('How long each is remembered.'),
})

export const tracingSettings = z.strictObject({
  enabled: z
    .boolean()
    .describe(
      'A span per request by the OpenTelemetry API. An SDK that is loaded beside exports them; there is none here.',
    ),
})
