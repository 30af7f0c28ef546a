import { z } from 'zod'
import { lifetimeMs, timeoutMs } from './values.ts'

/** The SQL store. A request that exceeds one of these times gets 503. */
export const databaseSettings = z.strictObject({
  poolSize: z
    .int()
    .min(1)
    .describe(
      'Maximum number of PostgreSQL connections in the pool of one process. It must be larger than `jobs.concurrency`. Up to four more connections are used outside the pool: two for ledger checks, one for the cleanup of identity data, and without Redis one for the singleton lock.',
    ),
  connectTimeoutMs: timeoutMs(0).describe(
    'Time limit in milliseconds for connecting, and for waiting for a free connection. 0 disables the limit.',
  ),
  statementTimeoutMs: timeoutMs(0).describe('Time limit in milliseconds for a statement. 0 disables the limit.'),
  lockTimeoutMs: timeoutMs(0).describe(
    'Time limit in milliseconds for a statement that waits for a lock. It must be less than `statementTimeoutMs`. With 0, only that limit applies.',
  ),
  minimumFreeBytes: z
    .int()
    .min(0)
    .describe(
      'Free disk space in bytes. Below it, the embedded store becomes read-only, because PGlite does not survive a full disk.',
    ),
  acceptEmbedded: z
    .boolean()
    .describe(
      'Whether the production profile can use the embedded store if `DATABASE_URL` is unset. The store serves one process, and in production it writes every commit to disk.',
    ),
  vacuumEveryMs: lifetimeMs(60_000).describe(
    'Interval in milliseconds at which the embedded store reclaims the space of deleted rows. A PostgreSQL server does this without the setting.',
  ),
})

/** Redis, if REDIS_URL is set. */
export const redisSettings = z.strictObject({
  cluster: z.boolean().describe('Whether `REDIS_URL` names a node of a Redis Cluster.'),
  connectTimeoutMs: timeoutMs(0).describe('Time limit in milliseconds for connecting to Redis. 0 disables the limit.'),
  commandTimeoutMs: z
    .int()
    .min(10)
    .max(1_000)
    .describe('Time limit in milliseconds for a Redis command. After it, the request gets 503.'),
})

/** Graceful shutdown after SIGTERM and SIGINT. */
export const shutdownSettings = z.strictObject({
  delayMs: timeoutMs(0).describe(
    'Time in milliseconds between failing readiness and closing the listener. It must be longer than load balancers need to notice that readiness fails.',
  ),
  timeoutMs: timeoutMs(0).describe(
    'Time limit in milliseconds for accepted requests after the listener has closed. Then their connections are closed.',
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
    .describe(
      'Number of requests that a replica records for `/explain`. Newer requests replace older ones. 0 records none.',
    ),
  ttlMs: timeoutMs(1_000).describe('Time in milliseconds for which a request is recorded for `/explain`.'),
})

export const tracingSettings = z.strictObject({
  enabled: z
    .boolean()
    .describe('Create a span per request with the OpenTelemetry API. Load an OpenTelemetry SDK to export the spans.'),
})
