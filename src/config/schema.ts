import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { routableDomains } from '../contract/index.ts'
import { rateGroups } from '../kernel/index.ts'
import { auditSettings, exportSettings, fileSettings, jobSettings } from './files.ts'
import * as identity from './identity.ts'
import { moneySettings } from './money.ts'
import { databaseSettings, redisSettings, shutdownSettings } from './running.ts'
import type { Secret } from './secrets.ts'

const milliseconds = z.int().min(0)
const port = z.int().min(0).max(65_535)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex')
const cidr = z.string().refine(ipaddr.isValidCIDR, 'an address range such as 10.0.0.0/8')
const httpUrl = z.url({ protocol: /^https?$/ })

/** A fixed window: so many within so long. */
const limitRule = z.strictObject({ limit: z.int().min(1), windowMs: z.int().min(1_000) })
const groupRules = z.strictObject({ address: limitRule.optional(), account: limitRule.optional() })

const portal = z.strictObject({
  /** SHA-256 of each access code that is good at present; several while one is being replaced. */
  accessCodes: z.array(sha256).min(1),
  edge: z.strictObject({ kind: z.enum(['cloudflare', 'direct']), trustedProxies: z.array(cidr) }),
  selfRegistration: z.enum(['closed', 'open', 'approval']),
  /** The limits' groups whose bodies must come through the secure channel. */
  channelMandatory: z.array(z.enum(rateGroups)),
  compatibility: z.strictObject({ observedErrors: z.boolean() }),
  links: identity.links,
})

const upstream = z.strictObject({
  url: httpUrl,
  /** `aud` of the call assertions for it. */
  audience: z.string().min(1).default('portico-domains'),
  /** From the first byte sent to the last one received. */
  timeoutMs: z.int().min(10).default(5_000),
  maxReplyBytes: z.int().min(1_024).default(5_242_880),
  /** The same for what is streamed, uploads and downloads: five minutes and 1 GiB where nothing is said. */
  streamTimeoutMs: z.int().min(10).optional(),
  maxStreamBytes: z.int().min(1_024).optional(),
  connections: z.int().min(1).default(64),
  /** PEM files: whom to trust, and the certificate and key to show (mTLS). */
  tls: z
    .strictObject({ caFile: z.string().optional(), certFile: z.string().optional(), keyFile: z.string().optional() })
    .optional(),
  /** Requests under way and waiting at once; one more is answered 503. */
  concurrency: z.int().min(1).default(256),
  queue: z.int().min(0).default(256),
  /** Failures in a row that open the breaker, and how long it then stays open. */
  breaker: z.strictObject({ failures: z.int().min(1), openMs: milliseconds }).default({ failures: 5, openMs: 5_000 }),
})

/** The whole configuration. Unknown keys are refused. Durations are milliseconds, sizes bytes. */
export const schema = z.strictObject({
  profile: z.enum(['development', 'production']),
  /** The address under which users reach this deployment; links in mails are built from it alone. */
  publicUrl: httpUrl,
  listen: z.strictObject({ host: z.string().min(1), port, operationsPort: port }),
  log: z.strictObject({ level: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) }),
  portals: z.strictObject({ CONSUMER: portal, SYSTEM: portal }),
  limits: z.strictObject({
    scale: z.number().positive(),
    /** Any one address, over all operations. */
    address: limitRule,
    groups: z.record(z.enum(rateGroups), groupRules),
    /** Bits of an IPv6 address that count as one client. */
    ipv6Prefix: z.int().min(32).max(64),
  }),
  requests: z.strictObject({
    maxBodyBytes: z.int().min(1_024),
    bodyTimeoutMs: z.int().min(100),
    headersTimeoutMs: z.int().min(100),
    uploadTimeoutMs: z.int().min(1_000),
    maxHeaders: z.int().min(20),
    maxDepth: z.int().min(4),
  }),
  tokens: identity.tokens,
  sessions: identity.sessions,
  login: identity.login,
  /** How long a replica goes by a membership that it has read; a change of rights waits as long before it is answered. */
  access: z.strictObject({ leaseMs: z.int().min(0).max(5_000) }),
  passwords: identity.passwords,
  mfa: identity.mfa,
  turnstile: identity.turnstile,
  background: identity.background,
  identity: identity.identity,
  secureChannel: z.strictObject({ sessionTtlMs: milliseconds, keyTtlMs: milliseconds, keyOverlapMs: milliseconds }),
  mail: z.strictObject({ from: z.string().min(3), outboxSize: z.int().min(1), timeoutMs: milliseconds }),
  database: databaseSettings,
  redis: redisSettings,
  shutdown: shutdownSettings,
  money: moneySettings,
  files: fileSettings,
  exports: exportSettings,
  jobs: jobSettings,
  audit: auditSettings,
  /** Per domain, or `default`: served in this process, or by an HTTP service. */
  backends: z.partialRecord(z.enum(['default', ...routableDomains]), z.union([z.literal('in-process'), upstream])),
  assertion: z.strictObject({
    /** How long a call assertion is good. */
    ttlMs: z.int().min(1_000),
    /** Where `serve --role domains` fetches the gateway's public keys. */
    jwksUrl: httpUrl,
    /** What a domain service is called by the gateways before it. */
    audience: z.string().min(1),
  }),
  /** Other numbers for coded values, by family and code. */
  codedValues: z.record(z.string(), z.record(z.string(), z.int())),
})

export type Settings = z.output<typeof schema>
export type PortalConfiguration = z.output<typeof portal>
export type UpstreamConfiguration = z.output<typeof upstream>
export type LimitRule = z.output<typeof limitRule>

export interface Configuration extends Settings {
  dataDirectory: string
  secretKey: Secret<Uint8Array<ArrayBuffer>>
  databaseUrl: Secret<string> | null
  redisUrl: Secret<string> | null
  smtpUrl: Secret<string> | null
}
