import { z } from 'zod'
import { lifetimeMs, timeoutMs } from './values.ts'

/** The SQL store. A request that exceeds one of these times gets 503. */
export const databaseSettings = z.strictObject({
  poolSize: z
    .int()
    .min(1)
    .describe(
      'Maximum number of pooled PostgreSQL connections of one process; must exceed `jobs.concurrency`. Up to four more are used outside the pool: two for ledger checks, one for the cleanup of identity data, and without Redis one for the singleton lock.',
    ),
  connectTimeoutMs: timeoutMs(0).describe(
    'Time in milliseconds to connect, or to wait for a free connection. 0 disables the timeout.',
  ),
  statementTimeoutMs: timeoutMs(0).describe('Time in milliseconds for a statement to finish. 0 disables the timeout.'),
  lockTimeoutMs: timeoutMs(0).describe(
    'Time in milliseconds that a statement waits for a lock. Must be less than `statementTimeoutMs`; 0 waits as long as that.',
  ),
  minimumFreeBytes: z
    .int()
    .min(0)
    .describe(
      'Free disk space in bytes below which the embedded store becomes read-only. PGlite does not survive a full disk.',
    ),
  acceptEmbedded: z
    .boolean()
    .describe(
      'Allow the production profile to use the embedded store when `DATABASE_URL` is unset. It serves one process, and then flushes every commit to disk.',
    ),
  vacuumEveryMs: lifetimeMs(60_000).describe(
    'Interval in milliseconds at which the embedded store reclaims the space of deleted rows. A PostgreSQL server does this itself.',
  ),
})

/** Redis, if REDIS_URL is set. */
export const redisSettings = z.strictObject({
  cluster: z.boolean().describe('Whether `REDIS_URL` names a node of a Redis Cluster.'),
  connectTimeoutMs: timeoutMs(0).describe('Time in milliseconds to connect to Redis. 0 disables the timeout.'),
  commandTimeoutMs: z
    .int()
    .min(10)
    .max(1_000)
    .describe('Time in milliseconds for Redis to answer a command. Requests that wait longer get 503.'),
})

/** Graceful shutdown after SIGTERM and SIGINT. */
export const shutdownSettings = z.strictObject({
  delayMs: timeoutMs(0).describe(
    'Time in milliseconds between failing readiness and closing the listener. Make it longer than load balancers need to notice.',
  ),
  timeoutMs: timeoutMs(0).describe(
    'Time in milliseconds for accepted requests to finish after that. Then their connections are closed.',
  ),
})

/** Tuning of the Node process (src/platform/runtime/tuning.ts). docs/performance.md lists the measures and their effect. */
export const runtimeSettings = z.strictObject({
  tuning: z
    .enum(['on', 'off'])
    .describe(
      'Whether to tune the Node process: heap growth, priority of worker threads, HTTP message classes, and garbage collection while streaming. `off` runs Node with its defaults.',
    ),
})

/** How many requests are recorded for /explain/{requestId} on the operations listener, and for how long. */
export const explainSettings = z.strictObject({
  entries: z
    .int()
    .min(0)
    .max(1_000_000)
    .describe('Number of requests that a replica keeps for `/explain`, newest first. 0 keeps none.'),
  ttlMs: timeoutMs(1_000).describe('Time in milliseconds that a request is kept for `/explain`.'),
})

export const tracingSettings = z.strictObject({
  enabled: z
    .boolean()
    .describe('Create a span per request with the OpenTelemetry API. Load an OpenTelemetry SDK to export the spans.'),
})
