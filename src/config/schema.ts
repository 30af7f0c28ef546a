import { hash } from 'node:crypto'
import { z } from 'zod'
import { routableDomains } from '../contract/index.ts'
import { isSender, rateGroups } from '../kernel/index.ts'
import { accessSettings } from './access.ts'
import { baseUrl, cidr, coverInternet, host, httpUrl } from './addresses.ts'
import { auditSettings, exportSettings, fileSettings, jobSettings } from './files.ts'
import * as identity from './identity.ts'
import {
  databaseSettings,
  explainSettings,
  redisSettings,
  shutdownSettings,
  tracingSettings,
} from './infrastructure.ts'
import { moneySettings } from './money.ts'
import { lifetimeMs, type Secret, timeoutMs } from './values.ts'

const port = z.int().min(0).max(65_535)
/** That of nothing would let in whoever names no code. */
const codeDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex')
  .refine((hex) => hex !== hash('sha256', ''), 'not the SHA-256 of an empty text')

/** A fixed window: so many within so long. */
const limitRule = z.strictObject({
  limit: z.int().min(1).describe('Requests within the window; one more is answered 429.'),
  windowMs: lifetimeMs(1_000).describe('How long the window is.'),
})
const groupRules = z.strictObject({
  address: limitRule.optional().describe('Of one address, whoever calls from it.'),
  account: limitRule
    .optional()
    .describe(
      'Of one account, wherever it calls from, and of its API keys together; of `mfaSend` and `forgot` the mails to one. Without effect in `registration`, `channelOpen` and `refresh`, where nobody has signed in yet.',
    ),
  network: limitRule
    .optional()
    .describe('Requests from one network: an IPv4 /24 or an IPv6 /48. Counts the requests that `address` allows.'),
  total: limitRule
    .optional()
    .describe('Requests from all clients of one portal. Counts the requests that `address` and `network` allow.'),
})

const anyAddress = limitRule.describe('Any one address, over all operations.')

const portal = z.strictObject({
  accessCodes: z
    .array(codeDigest)
    .min(1)
    .describe('SHA-256 of each access code that is good at present; several while one is being replaced.'),
  edge: z.strictObject({
    kind: z
      .enum(['cloudflare', 'direct'])
      .describe('`cloudflare` demands the CF headers; `direct` takes the address from X-Forwarded-For, or the socket.'),
    trustedProxies: z
      .array(cidr)
      .refine((ranges) => !coverInternet(ranges), 'ranges that do not cover the whole internet')
      .describe('The peers that may say who the client is; from others it counts as absent.'),
  }),
  selfRegistration: z
    .enum(['closed', 'open', 'approval'])
    .describe(
      'Whether people make accounts here by themselves, and whether an operator approves each. Without effect on SYSTEM, which has no registration.',
    ),
  limits: z
    .strictObject({
      address: anyAddress.optional(),
      groups: z
        .partialRecord(z.enum(rateGroups), groupRules)
        .optional()
        .describe('Per group of operations, as in `limits`.'),
    })
    .optional()
    .describe("This portal's own limits; each takes the place of the same one of `limits`."),
  channelMandatory: z
    .array(z.enum(rateGroups))
    .describe(
      "The limits' groups whose bodies must come through the secure channel; `/openapi.json` tells the group of each operation.",
    ),
  compatibility: z
    .strictObject({
      observedErrors: z
        .boolean()
        .describe('Whether the two observed 500s of the interface are kept (`true`), or are 400 as they should be.'),
    })
    .describe('What the interface was found to do, and should not.'),
  links: identity.links,
})

/** An HTTP service behind the gateway. */
export const upstream = z.strictObject({
  url: baseUrl.describe('Where it is. The interface’s own paths are appended.'),
  audience: z
    .string()
    .min(1)
    .default('portico-domains')
    .describe('`aud` of the call assertions for it; upstreams at different urls need different ones.'),
  timeoutMs: timeoutMs(10)
    .default(5_000)
    .describe('For the whole of a call: its wait for a place, and the second try of a GET, are within it.'),
  maxReplyBytes: z.int().min(1_024).default(5_242_880).describe('More than that is 502.'),
  streamTimeoutMs: timeoutMs(10)
    .default(300_000)
    .describe('For what is streamed, uploads and downloads: from the first byte to the last.'),
  maxStreamBytes: z.int().min(1_024).default(1_073_741_824).describe('More than that of a stream is broken off.'),
  connections: z.int().min(1).default(64).describe('Kept open to the upstream at most.'),
  tls: z
    .strictObject({
      caFile: z.string().min(1).optional().describe('The authorities to trust instead of the usual ones.'),
      certFile: z.string().min(1).optional().describe('The certificate to show.'),
      keyFile: z.string().min(1).optional().describe('The key of that certificate.'),
    })
    .optional()
    .describe('PEM files: whom to trust, and the certificate and key to show (mTLS).'),
  concurrency: z.int().min(1).default(256).describe('Requests under way at once, and as many streams beside them.'),
  queue: z
    .int()
    .min(0)
    .default(256)
    .describe('Requests that wait beyond those under way, and as many streams; one more is answered 503.'),
  breaker: z
    .strictObject({
      failures: z.int().min(1).describe('Failures in a row that open the breaker.'),
      openMs: timeoutMs(0).describe('How long it stays open before one request may try again.'),
    })
    .default({ failures: 5, openMs: 5_000 })
    .describe('While it is open, requests are answered 503 without being sent.'),
})

/** The whole configuration. Unknown keys are refused. Durations are milliseconds, sizes bytes. */
export const schema = z.strictObject({
  profile: z
    .enum(['development', 'production'])
    .describe(
      'Production refuses development codes, keys and addresses, predictable keys, raised limits, and missing settings.',
    ),
  publicUrl: baseUrl.describe(
    'The address under which users reach this deployment; links in mails are built from it alone.',
  ),
  listen: z
    .strictObject({
      host: host.describe('The address that both listen on.'),
      port: port.describe('Of the portal listener; 0 takes a free one.'),
      operationsPort: port.describe('Of the operations listener; 0 takes a free one.'),
    })
    .describe('The portal listener, and the operations listener, which belongs into a private network.'),
  log: z
    .strictObject({
      level: z
        .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
        .describe('The least that is written.'),
    })
    .describe('One JSON line per request at info; refusals too. Faults at error.'),
  portals: z
    .strictObject({ CONSUMER: portal, SYSTEM: portal })
    .refine(
      ({ CONSUMER, SYSTEM }) => !CONSUMER.accessCodes.some((code) => SYSTEM.accessCodes.includes(code)),
      'each access code at one portal, since it tells which one is meant',
    ),
  limits: z.strictObject({
    scale: z.number().positive().describe('Multiplies every limit; for load tests. At most 1 in production.'),
    address: anyAddress,
    groups: z
      .record(z.enum(rateGroups), groupRules)
      .describe(
        'Per group of operations: of one address, one network, all clients, one account. A group without an account rule shares `general`.',
      ),
    ipv6Prefix: z.int().min(32).max(64).describe('Bits of an IPv6 address that count as one client.'),
  }),
  requests: z.strictObject({
    maxBodyBytes: z.int().min(1_024).describe('Of a JSON body; uploads have the limit of their purpose.'),
    bodyTimeoutMs: timeoutMs(100).describe("From a body's first byte to its last."),
    headersTimeoutMs: timeoutMs(100).describe("From the connection to the head's end."),
    uploadBytesPerSecond: z.int().min(1).describe('Of an upload, measured over `bodyTimeoutMs`; a slower one is 408.'),
    downloadStallMs: timeoutMs(100).describe(
      'An answer, a download above all, of which its client takes nothing for so long is cut off.',
    ),
    uploadTimeoutMs: timeoutMs(1_000).describe('For a whole request, an upload above all.'),
    maxHeaders: z.int().min(20).describe('Header fields of a request.'),
    maxDepth: z.int().min(4).describe('Nesting of a JSON body.'),
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
    sessionTtlMs: lifetimeMs(1_000).describe('How long a session can be used.'),
    maxSessions: z
      .int()
      .min(1)
      .describe(
        'Maximum number of channel sessions per portal. Each minute of `sessionTtlMs` has an equal share; further openings get 429 until the next minute. A session in use takes up to 400 bytes of Redis, or of memory without Redis.',
      ),
    keyTtlMs: lifetimeMs(1_000).describe("A public key's whole life."),
    keyOverlapMs: lifetimeMs(0).describe('The last part of it, in which its successor is handed out already.'),
  }),
  mail: z.strictObject({
    from: z
      .string()
      .refine(isSender, 'a sender such as Portal <no-reply@portal.example>')
      .describe('The sender of every mail.'),
    outboxSize: z.int().min(1).describe('Mails that the development outbox keeps.'),
    timeoutMs: timeoutMs(100).describe(
      'For the mail server to take one, of which five are sent at once and more wait.',
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
        .union([z.literal('in-process'), upstream], { error: 'in-process, or settings of which one is a url' })
        .describe('By the domain’s name, or `default` for the others.'),
    )
    .describe('Per domain, or `default`: served in this process, or by an HTTP service.'),
  assertion: z.strictObject({
    ttlMs: lifetimeMs(1_000).describe('How long a call assertion is good.'),
    jwksUrl: httpUrl.describe("Where `serve --role domains` fetches the gateway's public keys."),
    audience: z.string().min(1).describe('What a domain service is called by the gateways before it.'),
  }),
  codedValues: z
    .record(z.string(), z.record(z.string(), z.int()).describe('The number of each code that gets another one.'))
    .describe('Other numbers for coded values, by family and code.'),
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
