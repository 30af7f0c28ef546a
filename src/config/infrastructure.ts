import { z } from 'zod'
import { timeoutMs } from './values.ts'

export const databaseSettings = z.strictObject({
  poolSize: z
    .int()
    .min(1)
    .describe(
      'Maximum number of PostgreSQL connections in the pool of one process. It must be greater than `jobs.concurrency`. A process uses up to four more connections outside the pool: two for ledger checks, one for the cleanup of identity data, and, without Redis, one for the singleton lock.',
    ),
  connectTimeoutMs: timeoutMs(0).describe(
    'Time limit in milliseconds for connecting to PostgreSQL, and for waiting for a free connection. When it expires, the request gets 503. 0 disables the limit.',
  ),
  statementTimeoutMs: timeoutMs(0).describe(
    'Time limit in milliseconds for an SQL statement. When it expires, the request gets 503. 0 disables the limit.',
  ),
  lockTimeoutMs: timeoutMs(0).describe(
    'Time limit in milliseconds for an SQL statement to wait for a lock. When it expires, the request gets 503. It must be less than `statementTimeoutMs`. With 0, only `statementTimeoutMs` applies.',
  ),
  minimumFreeBytes: z
    .int()
    .min(0)
    .describe(
      'Minimum free disk space in bytes for the embedded store. With less, the store does not start or becomes read-only, because PGlite does not survive a full disk.',
    ),
  acceptEmbedded: z
    .boolean()
    .describe(
      'Whether the production profile can use the embedded store if `DATABASE_URL` is unset. The embedded store serves only one process. In production, it writes every commit to disk.',
    ),
})

export const redisSettings = z.strictObject({
  cluster: z.boolean().describe('Whether `REDIS_URL` names a node of a Redis Cluster.'),
  connectTimeoutMs: timeoutMs(0).describe('Time limit in milliseconds for connecting to Redis. 0 disables the limit.'),
  commandTimeoutMs: z
    .int()
    .min(10)
    .max(1_000)
    .describe('Time limit in milliseconds for a Redis command. When it expires, the request gets 503.'),
})

export const shutdownSettings = z.strictObject({
  delayMs: timeoutMs(0).describe(
    'Time in milliseconds for which a stopping process still accepts connections after its readiness check starts to fail. It must be longer than load balancers take to notice the failure.',
  ),
  timeoutMs: timeoutMs(0).describe(
    'Time limit in milliseconds for a stopping process to finish accepted requests. When it expires, the remaining connections are closed.',
  ),
})

/** docs/performance.md lists the measures and their effects. */
export const runtimeSettings = z.strictObject({
  tuning: z
    .enum(['on', 'off'])
    .describe(
      'Whether to tune the Node process: heap growth, priority of worker threads, HTTP message classes, and garbage collection while streaming. With `off`, Node uses its defaults.',
    ),
})

export const explainSettings = z.strictObject({
  entries: z
    .int()
    .min(0)
    .max(1_000_000)
    .describe(
      'Maximum number of requests that a replica stores for `/explain`. Newer requests replace older ones. With 0, no requests are stored.',
    ),
  ttlMs: timeoutMs(1_000).describe(
    'Time in milliseconds for which a request is stored for `/explain`. Older requests are not shown.',
  ),
})

export const tracingSettings = z.strictObject({
  enabled: z
    .boolean()
    .describe(
      'Whether to create a span for each request with the OpenTelemetry API. An OpenTelemetry SDK must be loaded to export the spans.',
    ),
})
