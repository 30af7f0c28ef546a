import { hash } from 'node:crypto'
import { z } from 'zod'
import { routableDomains } from '../contract/index.ts'
import { isSender, rateGroups } from '../kernel/index.ts'
import { auditSettings, exportSettings, fileSettings, jobSettings } from './files.ts'
import * as identity from './identity.ts'
import { accessSettings } from './identity.ts'
import {
  databaseSettings,
  explainSettings,
  redisSettings,
  shutdownSettings,
  tracingSettings,
} from './infrastructure.ts'
import { moneySettings } from './money.ts'
import { baseUrl, cidr, coverInternet, host, httpUrl, lifetimeMs, type Secret, timeoutMs } from './values.ts'

const port = z.int().min(0).max(65_535)
/** The digest of an empty text would accept requests without an access code. */
const codeDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex')
  .refine((hex) => hex !== hash('sha256', ''), 'not the SHA-256 of an empty text')

/** A fixed-window limit. */
const limitRule = z.strictObject({
  limit: z.int().min(1).describe('Maximum number of requests per window. Further requests get 429.'),
  windowMs: lifetimeMs(1_000).describe('Length of the window in milliseconds.'),
})
const groupRules = z.strictObject({
  address: limitRule.optional().describe('Limit per client address.'),
  account: limitRule
    .optional()
    .describe(
      'Limit per account: for its sessions together, and again for its API keys together. In `mfaSend` and `forgot` it limits the mails to one account. It has no effect in `registration`, `channelOpen` and `refresh`, which run before sign-in.',
    ),
  network: limitRule
    .optional()
    .describe('Requests from one network: an IPv4 /24 or an IPv6 /48. Counts the requests that `address` allows.'),
  total: limitRule
    .optional()
    .describe('Requests from all clients of one portal. Counts the requests that `address` and `network` allow.'),
})

const anyAddress = limitRule.describe(
  'Limit per client address over all operations. Unknown paths and wrong access codes count, too.',
)

const portal = z.strictObject({
  accessCodes: z
    .array(codeDigest)
    .min(1)
    .describe('SHA-256 digests of the valid access codes, in lower-case hex. Configure two while you replace one.'),
  edge: z.strictObject({
    kind: z
      .enum(['cloudflare', 'direct'])
      .describe(
        'How the client address is found. `cloudflare` requires the CF headers; `direct` uses X-Forwarded-For, or the address of the socket.',
      ),
    trustedProxies: z
      .array(cidr)
      .refine((ranges) => !coverInternet(ranges), 'ranges that do not cover the whole internet')
      .describe(
        'Address ranges of the proxies whose edge and forwarded headers are trusted. Such headers from other peers are ignored.',
      ),
  }),
  selfRegistration: z
    .enum(['closed', 'open', 'approval'])
    .describe(
      'Whether users can register: `closed` refuses, `open` creates the account, `approval` waits for an operator. It has no effect on SYSTEM, which has no registration.',
    ),
  limits: z
    .strictObject({
      address: anyAddress.optional(),
      groups: z
        .partialRecord(z.enum(rateGroups), groupRules)
        .optional()
        .describe('Limits per operation group, as in `limits.groups`.'),
    })
    .optional()
    .describe('Limits of this portal. Each one replaces the same limit in `limits`.'),
  channelMandatory: z
    .array(z.enum(rateGroups))
    .describe(
      'Operation groups whose request bodies must be encrypted by the secure channel. `/openapi.json` lists the group of each operation.',
    ),
  compatibility: z
    .strictObject({
      observedErrors: z
        .boolean()
        .describe(
          'Keep the two 500 responses that the interface documents for invalid requests (`true`), or answer 400 (`false`).',
        ),
    })
    .describe('Documented deviations of the interface.'),
  links: identity.links,
})

/** An HTTP service behind the gateway. */
export const upstream = z.strictObject({
  url: baseUrl.describe('Base URL of the service. The path of the operation is appended.'),
  audience: z
    .string()
    .min(1)
    .default('portico-domains')
    .describe(
      'The `aud` claim of the call assertions for this upstream. Upstreams at different URLs need different audiences.',
    ),
  timeoutMs: timeoutMs(10)
    .default(5_000)
    .describe(
      'Total deadline of a call in milliseconds, including its time in the queue and the retry of a GET. A later reply is 504.',
    ),
  maxReplyBytes: z
    .int()
    .min(1_024)
    .default(5_242_880)
    .describe('Maximum size of a JSON reply in bytes. A larger one is 502.'),
  streamTimeoutMs: timeoutMs(10).default(300_000).describe('Total deadline of an upload or download in milliseconds.'),
  maxStreamBytes: z
    .int()
    .min(1_024)
    .default(1_073_741_824)
    .describe('Maximum size of an upload or download in bytes. A larger stream is aborted.'),
  connections: z.int().min(1).default(64).describe('Maximum number of connections to the upstream.'),
  tls: z
    .strictObject({
      caFile: z
        .string()
        .min(1)
        .optional()
        .describe('PEM file with the certificate authorities to trust instead of the default ones.'),
      certFile: z.string().min(1).optional().describe('PEM file with the client certificate.'),
      keyFile: z.string().min(1).optional().describe('PEM file with the key of the client certificate.'),
    })
    .optional()
    .describe('TLS settings of the connection to the upstream, for a private authority or mTLS.'),
  concurrency: z
    .int()
    .min(1)
    .default(256)
    .describe('Maximum number of concurrent requests to the upstream. Streams have the same limit of their own.'),
  queue: z
    .int()
    .min(0)
    .default(256)
    .describe('Maximum number of requests that wait for a free place. Further requests get 503.'),
  breaker: z
    .strictObject({
      failures: z.int().min(1).describe('Number of consecutive failures that open the circuit breaker.'),
      openMs: timeoutMs(0).describe('Time in milliseconds until an open circuit breaker allows one trial request.'),
    })
    .default({ failures: 5, openMs: 5_000 })
    .describe('Circuit breaker. While it is open, requests get 503 and are not sent.'),
})

/** The whole configuration. Unknown keys are refused. Durations are in milliseconds, sizes in bytes. */
export const schema = z.strictObject({
  profile: z
    .enum(['development', 'production'])
    .describe(
      '`production` refuses development codes, keys and addresses, predictable keys, raised limits, and missing settings.',
    ),
  publicUrl: baseUrl.describe('Public base URL of this deployment. Links in mails are built from it.'),
  listen: z
    .strictObject({
      host: host.describe('Address or host name that both listeners bind to.'),
      port: port.describe('Port of the portal listener. 0 selects a free port.'),
      operationsPort: port.describe('Port of the operations listener. 0 selects a free port.'),
    })
    .describe('The portal listener, and the operations listener, which belongs in a private network.'),
  log: z
    .strictObject({
      level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).describe('Minimum log level.'),
    })
    .describe('Log output: one JSON line per request at `info`, server errors at `error`.'),
  portals: z
    .strictObject({ CONSUMER: portal, SYSTEM: portal })
    .refine(
      ({ CONSUMER, SYSTEM }) => !CONSUMER.accessCodes.some((code) => SYSTEM.accessCodes.includes(code)),
      'access codes that differ between the portals',
    ),
  limits: z.strictObject({
    scale: z.number().positive().describe('Factor for every limit, for load tests. At most 1 in production.'),
    address: anyAddress,
    groups: z
      .record(z.enum(rateGroups), groupRules)
      .describe('Limits per operation group. A group without an `account` limit uses that of `general`.'),
    ipv6Prefix: z
      .int()
      .min(32)
      .max(64)
      .describe('Prefix length in bits under which IPv6 addresses count as one client.'),
  }),
  requests: z.strictObject({
    maxBodyBytes: z
      .int()
      .min(1_024)
      .describe(
        'Maximum size of a JSON body in bytes. Larger bodies get 413. Uploads have the limit of their purpose.',
      ),
    bodyTimeoutMs: timeoutMs(100).describe(
      'Time in milliseconds for a client to send a JSON body. Slower requests get 408.',
    ),
    headersTimeoutMs: timeoutMs(100).describe('Time in milliseconds for a client to send the headers of a request.'),
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
      'Total time in milliseconds for a client to send a request, uploads included.',
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
        'Maximum number of channel sessions per portal. Each minute of `sessionTtlMs` has an equal share; further openings get 429 until the next minute. A session in use takes up to 400 bytes of Redis, or of memory without Redis.',
      ),
    keyTtlMs: lifetimeMs(1_000).describe('Lifetime of a public key of the secure channel in milliseconds.'),
    keyOverlapMs: lifetimeMs(0).describe(
      'Time in milliseconds before a public key expires in which clients already receive its successor.',
    ),
  }),
  mail: z.strictObject({
    from: z
      .string()
      .refine(isSender, 'a sender such as Portal <no-reply@portal.example>')
      .describe('Sender of every mail, such as `Portal <no-reply@portal.example>`.'),
    outboxSize: z.int().min(1).describe('Number of mails that the development outbox keeps.'),
    timeoutMs: timeoutMs(100).describe(
      'Time in milliseconds for the mail server to accept a mail. Five mails are sent in parallel.',
    ),
  }),
  database: databaseSettings,
  redis: redisSettings,
  shutdown: shutdownSettings,
  money: moneySettings,
  files: fileSettings,
  exports: exportSettings,
  jobs: jobSettings,
  audit: auditSettings,
  explain: explainSettings,
  tracing: tracingSettings,
  backends: z
    .partialRecord(
      z.enum(['default', ...routableDomains]),
      z
        .union([z.literal('in-process'), upstream], { error: '`in-process`, or settings with a `url`' })
        .describe('Backend of one domain, or of every other domain (`default`).'),
    )
    .describe('Where each domain is served: `in-process`, or by an HTTP service.'),
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
export type PortalConfiguration = z.output<typeof portal>
export type UpstreamConfiguration = z.output<typeof upstream>
export type LimitRule = z.output<typeof limitRule>
export type GroupRules = z.output<typeof groupRules>

export interface Configuration extends Settings {
  dataDirectory: string
  secretKey: Secret<Uint8Array<ArrayBuffer>>
  databaseUrl: Secret<string> | null
  redisUrl: Secret<string> | null
  smtpUrl: Secret<string> | null
}
