import { z } from 'zod'
import { days } from '../kernel/index.ts'
import { parseWebhookSecret } from '../platform/webhooks/index.ts'
import { httpUrl, lifetimeMs, secret, secretUrl, timeoutMs } from './values.ts'

/** Fields of a request's log line that a deployment can add. Headers with secrets are not among them. */
const logFields = [
  'acceptLanguage',
  'cfRay',
  'contentType',
  'host',
  'locale',
  'origin',
  'peer',
  'referer',
  'spanId',
  'upstream',
  'upstreamAttempts',
  'upstreamStatus',
] as const

export type LogField = (typeof logFields)[number]

export const logFieldSettings = z
  .array(z.enum(logFields))
  .describe(
    'Additional fields of the log line of a request: request headers (`acceptLanguage`, `cfRay`, `contentType`, `host`, `origin`, and `referer` without its query), the `locale`, the address of the direct `peer`, the `spanId`, and the URL, attempts and last status of the service behind Portico (`upstream`, `upstreamAttempts`, `upstreamStatus`). Values are cut at 200 characters.',
  )

export const databaseSettings = z.strictObject({
  // Exports use one connection for their snapshot and one to save their progress.
  poolSize: z
    .int()
    .min(3)
    .describe(
      'Maximum number of PostgreSQL connections in the pool of one process, or of all workers of a machine, at least 3 for each worker. A process uses up to four more connections outside the pool: two for ledger checks, one for the cleanup of identity data, and, without Redis, one for the singleton lock.',
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
  maxClockSkewMs: lifetimeMs(1_000).describe(
    'Maximum difference in milliseconds between the clocks of a process and of PostgreSQL. It is measured every minute. Above it, the process is not ready and starts no recurring job. From 1 s, it logs a warning.',
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

export const auditSettings = z.strictObject({
  export: z
    .strictObject({
      to: z
        .union([z.enum(['off', 'stdout']), z.literal(false).transform(() => 'off' as const), secretUrl], {
          error: '`off`, `stdout`, or a URL that begins with http:// or https://',
        })
        .describe(
          'Where the gateway sends each sealed entry of the audit log: in order, at least once. `stdout` writes a line of JSON to standard output, at any log level. A URL gets `POST` requests, which are signed as webhooks are. Production requires `https`, except on a loopback address. A change is recorded in the audit log.',
        ),
      secret: secret
        .refine(
          (value) => parseWebhookSecret(value.reveal()) !== undefined,
          'must be `whsec_` and 24 to 64 bytes in base64',
        )
        .nullable()
        .describe('Secret that signs the requests to the URL in `to`: `whsec_` and 24 to 64 random bytes in base64.'),
    })
    .describe('Export of the audit log to another system, which can then prove that a copy lacks entries.'),
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

const storage = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z
      .literal('disk')
      .describe('Stores files in the folder `blobs` of the data directory. All replicas must share that folder.'),
    shared: z
      .boolean()
      .default(false)
      .describe(
        'Whether all replicas share the folder `blobs`, on one machine or on a shared volume. Production with `REDIS_URL` requires `true`: otherwise a replica could not read the files of the others.',
      ),
  }),
  z.strictObject({
    kind: z
      .literal('s3')
      .describe(
        'Stores files in an S3-compatible store. Credentials come from the environment, a profile or the machine role.',
      ),
    bucket: z.string().min(3).describe('Name of the S3 bucket, which must exist.'),
    region: z.string().min(1).default('us-east-1').describe('Region of the S3 bucket.'),
    endpoint: httpUrl.optional().describe('URL of the S3-compatible store. Without a value, Amazon S3 is used.'),
    acceptPlain: z
      .boolean()
      .optional()
      .describe(
        'Whether production can use the store over `http`. Without it, production requires `https`, except on a loopback address.',
      ),
    forcePathStyle: z
      .boolean()
      .default(false)
      .describe(
        'Whether URLs name the bucket in the path instead of the host name. Most stores other than Amazon S3 require `true`.',
      ),
    prefix: z
      .string()
      .regex(/^([\w.-]+\/)*$/, 'empty, or folder names that end with a slash')
      .default('')
      .describe('Prefix of every object key in the bucket, such as `portico/`.'),
  }),
])

/** The domain `files` adds its settings. */
export const fileSettings = z.strictObject({ storage })

export const eventSettings = z.strictObject({
  retentionMs: lifetimeMs(days(1))
    .multipleOf(days(1))
    .describe(
      'Time in milliseconds for which feeds keep an event. A reader that is further behind gets 410 EVENT.CURSOR_EXPIRED. The value must be a whole number of days.',
    ),
})

export const jobSettings = z.strictObject({
  failedRetentionMs: lifetimeMs(days(1))
    .multipleOf(days(1))
    .describe(
      'Time in milliseconds for which a failed job stays in the table `jobs`. Afterwards, the job is deleted. The value must be a whole number of days.',
    ),
})

export const streamSettings = z.strictObject({
  maxPerAccount: z
    .int()
    .min(1)
    .describe('Maximum number of open event streams and WebSockets per account and replica. Further requests get 429.'),
  maxPerAddress: z
    .int()
    .min(1)
    .describe(
      'Maximum number of open event streams and WebSockets per client address and replica, for operations without a token. Further requests get 429.',
    ),
  idleTimeoutMs: timeoutMs(100).describe(
    'Time in milliseconds after which an event stream or a WebSocket is closed if neither side sends anything. Services must send a comment or a ping more often. For raw operations and `passThrough` prefixes, the maximum time for which a service can send nothing: afterwards, the client gets 504, or the connection is closed if the response has already started.',
  ),
  maxLifetimeMs: timeoutMs(100).describe(
    'Maximum time in milliseconds for which a stream stays open. Clients must then reopen it.',
  ),
  maxBufferedBytes: z
    .int()
    .min(1_024)
    .describe(
      'Maximum number of bytes that the gateway buffers in each direction of a stream whose reader is slow. When the buffer is full, the gateway stops reading from the sender.',
    ),
})

export type StreamSettings = z.output<typeof streamSettings>
