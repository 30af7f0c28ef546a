import { z } from 'zod'
import { isSender } from '../kernel/index.ts'
import { backendSettings } from './backends.ts'
import { auditSettings, exportSettings, fileSettings, jobSettings } from './files.ts'
import * as identity from './identity.ts'
import { accessSettings } from './identity.ts'
import {
  databaseSettings,
  explainSettings,
  redisSettings,
  runtimeSettings,
  shutdownSettings,
  tracingSettings,
} from './infrastructure.ts'
import { moneySettings } from './money.ts'
import { limitSettings, portalSettings } from './portals.ts'
import { baseUrl, host, httpUrl, lifetimeMs, type Secret, timeoutMs } from './values.ts'

const port = z.int().min(0).max(65_535)
/** The whole configuration. Unknown keys are refused. Durations are in milliseconds, sizes in bytes. */
export const schema = z.strictObject({
  profile: z
    .enum(['development', 'production'])
    .describe(
      'Profile of the deployment. `production` does not start with development codes, keys and addresses, with predictable keys, with raised limits, or without required settings.',
    ),
  publicUrl: baseUrl.describe('Public base URL of this deployment. Links in mails are built from it.'),
  listen: z
    .strictObject({
      host: host.describe('Address or host name that both listeners bind to.'),
      port: port.describe('Port of the portal listener. 0 selects a free port.'),
      operationsPort: port.describe('Port of the operations listener. 0 selects a free port.'),
    })
    .describe('Addresses of the portal listener and of the operations listener, which belongs in a private network.'),
  log: z
    .strictObject({
      level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).describe('Minimum log level.'),
    })
    .describe('Log output: one JSON line per request at `info`, server errors at `error`.'),
  portals: portalSettings,
  limits: limitSettings,
  requests: z.strictObject({
    maxBodyBytes: z
      .int()
      .min(1_024)
      .describe(
        'Maximum size of a JSON body in bytes. Larger bodies get 413. Uploads have the limit of their purpose.',
      ),
    bodyTimeoutMs: timeoutMs(100).describe(
      'Time limit in milliseconds for sending a JSON body. Slower requests get 408.',
    ),
    headersTimeoutMs: timeoutMs(100).describe('Time limit in milliseconds for sending the headers of a request.'),
    uploadBytesPerSecond: z
      .int()
      .min(1)
      .describe(
        'Minimum speed of an upload in bytes per second, measured over `bodyTimeoutMs`. Slower uploads get 408.',
      ),
    downloadStallMs: timeoutMs(100).describe(
      'Time in milliseconds after which a response is aborted if the client reads nothing of it.',
    ),
    uploadTimeoutMs: timeoutMs(1_000).describe(
      'Total time limit in milliseconds for sending a request, including uploads.',
    ),
    maxHeaders: z.int().min(20).describe('Maximum number of header fields in a request.'),
    maxDepth: z.int().min(4).describe('Maximum nesting depth of a JSON body.'),
  }),
  tokens: identity.tokens,
  sessions: identity.sessions,
  login: identity.login,
  access: accessSettings,
  passwords: identity.passwords,
  mfa: identity.mfa,
  turnstile: identity.turnstile,
  background: identity.background,
  identity: identity.identity,
  secureChannel: z.strictObject({
    sessionTtlMs: lifetimeMs(1_000).describe('Lifetime of a channel session in milliseconds.'),
    maxSessions: z
      .int()
      .min(1)
      .describe(
        'Maximum number of channel sessions per portal. Each minute of `sessionTtlMs` has an equal share. Further openings get 429 until the next minute. A session in use takes up to 400 bytes of Redis, or of memory without Redis.',
      ),
    keyTtlMs: lifetimeMs(1_000).describe('Lifetime of a public key of the secure channel in milliseconds.'),
    keyOverlapMs: lifetimeMs(0).describe(
      'Time in milliseconds before a public key expires. During this time, clients get its successor.',
    ),
  }),
  mail: z.strictObject({
    from: z
      .string()
      .refine(isSender, 'a sender such as Portal <no-reply@portal.example>')
      .describe('Sender of every mail, such as `Portal <no-reply@portal.example>`.'),
    outboxSize: z.int().min(1).describe('Number of mails that the development outbox shows. Older mails are deleted.'),
    timeoutMs: timeoutMs(100).describe(
      'Time limit in milliseconds for the mail server to accept a mail. Five mails are sent in parallel.',
    ),
  }),
  database: databaseSettings,
  redis: redisSettings,
  shutdown: shutdownSettings,
  runtime: runtimeSettings,
  money: moneySettings,
  files: fileSettings,
  exports: exportSettings,
  jobs: jobSettings,
  audit: auditSettings,
  explain: explainSettings,
  tracing: tracingSettings,
  backends: backendSettings,
  extensions: z
    .array(z.string().min(1))
    .describe('JavaScript modules whose domains the gateway adds. A relative path starts at the working directory.'),
  operations: z
    .array(z.string().min(1))
    .describe(
      'OpenAPI 3.1 documents with `x-portico` whose operations the gateway adds. `backends.<domain>` names the service that handles them.',
    ),
  domains: z
    .record(
      z.string(),
      z
        .union(
          [
            z.literal('off'),
            z.literal(false).transform(() => 'off' as const),
            z.record(z.string(), z.unknown().describe('A setting that the domain declares.')),
          ],
          { error: '`off`, or settings of the domain' },
        )
        .describe('Settings of the domain with this name, or `off` to remove it.'),
    )
    .describe('Settings of domains by name. `off` removes a domain with its operations, permissions and jobs.'),
  assertion: z.strictObject({
    ttlMs: lifetimeMs(1_000).describe('Lifetime of a call assertion in milliseconds.'),
    jwksUrl: httpUrl.describe('URL from which `serve --role domains` fetches the public keys of the gateway.'),
    audience: z.string().min(1).describe('Audience that `serve --role domains` expects in call assertions.'),
  }),
  codedValues: z
    .record(z.string(), z.record(z.string(), z.int()).describe('Numbers by code.'))
    .describe('Numbers that replace those of coded values, by family and code.'),
})

export type Settings = z.output<typeof schema>

export interface Configuration extends Settings {
  dataDirectory: string
  secretKey: Secret<Uint8Array<ArrayBuffer>>
  databaseUrl: Secret<string> | null
  redisUrl: Secret<string> | null
  smtpUrl: Secret<string> | null
}
