import { z } from 'zod'
import { PolicyShape } from '../contract/policy-shape.ts'
import { baseUrl, timeoutMs } from './values.ts'

const defaultMaxReplyBytes = 5 * 1_024 ** 2

export const upstream = z.strictObject({
  url: baseUrl.describe('Base URL of the service, to which the path of the operation is appended.'),
  audience: z
    .string()
    .min(1)
    .default('portico-domains')
    .describe(
      'The `aud` claim in call assertions for this upstream. Upstreams at different URLs must have different audiences.',
    ),
  timeoutMs: timeoutMs(10)
    .default(5_000)
    .describe(
      'Time limit in milliseconds for a call to the upstream, including the wait in the queue and the retry of a GET. If the upstream does not respond in time, the client gets 504.',
    ),
  maxReplyBytes: z
    .int()
    .min(1_024)
    .default(defaultMaxReplyBytes)
    .describe(
      'Maximum size in bytes of a JSON reply from the upstream. If a reply is larger, the client gets 502. The default also applies to handlers in this process, where the client gets 500.',
    ),
  streamTimeoutMs: timeoutMs(10)
    .default(300_000)
    .describe(
      'Time limit in milliseconds for an upload to or a download from the upstream. When it expires, the stream is aborted.',
    ),
  maxStreamBytes: z
    .int()
    .min(1_024)
    .default(1_073_741_824)
    .describe(
      'Maximum size in bytes of a download from the upstream. A larger download gets 502, or is aborted if it has already started.',
    ),
  acceptPlain: z
    .boolean()
    .default(false)
    .describe(
      'Whether production can call the upstream over `http`. Without it, production requires `https`, except on a loopback address.',
    ),
  connections: z
    .int()
    .min(1)
    .default(64)
    .describe('Maximum number of connections to the upstream. Further requests wait in the queue.'),
  tls: z
    .strictObject({
      caFile: z
        .string()
        .min(1)
        .optional()
        .describe('PEM file with the certificate authorities that are trusted instead of the default ones.'),
      certFile: z
        .string()
        .min(1)
        .optional()
        .describe('PEM file with the client certificate for mTLS with the upstream.'),
      keyFile: z.string().min(1).optional().describe('PEM file with the private key of the client certificate.'),
    })
    .optional()
    .describe(
      'TLS settings for connections to the upstream. Required only for a private certificate authority or mTLS.',
    ),
  concurrency: z
    .int()
    .min(1)
    .default(256)
    .describe(
      'Maximum number of concurrent requests to the upstream, from one process or from all workers of a machine. Uploads and downloads have a separate limit of the same size. Further requests wait in the queue.',
    ),
  queue: z
    .int()
    .min(0)
    .default(256)
    .describe('Maximum number of requests that wait in the queue of the upstream. Further requests get 503.'),
  breaker: z
    .strictObject({
      failures: z
        .int()
        .min(1)
        .describe(
          'Minimum number of failures within 10 seconds after which the circuit breaker opens. Several callers must be affected, and half of their requests on average.',
        ),
      openMs: timeoutMs(0).describe(
        'Time in milliseconds for which the circuit breaker stays open. Afterwards, one request per second tests the upstream, and at most one per caller within this time.',
      ),
    })
    .default({ failures: 5, openMs: 5_000 })
    .describe('Circuit breaker of the upstream. While it is open, requests get 503 and are not sent to the upstream.'),
})

const share = z.number({ error: shareError }).min(0, { error: shareError }).max(1, { error: shareError })

/** Another service that gets copies of reads. It sends no streams. */
const shadow = upstream.omit({ streamTimeoutMs: true, maxStreamBytes: true }).extend({
  url: baseUrl.describe(
    'Base URL of the service that gets copies of reads. It must differ from the URL of the backend.',
  ),
  share: share.describe('Share of the reads to copy, as a fraction from 0 to 1.'),
  ignore: z
    .array(
      z
        .string()
        .regex(/^[\w$*-]+(\.[\w$*-]+)*$/, 'a path of field names, such as items.updatedAt, without indexes of lists'),
    )
    .default([])
    .describe(
      'Fields of replies that are not compared, such as `items.updatedAt`. A path has no indexes of lists, and includes the fields below it.',
    ),
  maxReplyBytes: z
    .int()
    .min(1_024)
    .default(262_144)
    .describe(
      'Maximum size in bytes of a reply to compare. If the reply to the client is larger, the read is not copied.',
    ),
  connections: z.int().min(1).default(8).describe('Maximum number of connections for copies of reads.'),
  concurrency: z.int().min(1).default(8).describe('Maximum number of concurrent copies of reads.'),
  timeoutMs: timeoutMs(10).default(5_000).describe('Time limit in milliseconds for a copy of a read.'),
  queue: z
    .int()
    .min(0)
    .default(64)
    .describe('Maximum number of copies that wait. Further reads are not copied, and are counted as skipped.'),
})

/** Another service that serves some callers, commands included. */
const canary = upstream.extend({
  url: baseUrl.describe(
    'Base URL of the service that serves the selected requests. It must differ from the URL of the backend.',
  ),
  share: share
    .default(0)
    .describe(
      'Share of the workspaces and accounts that the service serves, as a fraction from 0 to 1. A larger share includes those of a smaller one.',
    ),
  sticky: z
    .enum(['workspace', 'account'])
    .default('workspace')
    .describe(
      'Whether the workspace or the account of a request selects the service. With `workspace`, the account selects for requests without a workspace. Requests with neither stay at the backend.',
    ),
  accounts: z
    .array(z.uuid().toLowerCase())
    .default([])
    .describe(
      'Accounts that the service always serves. With `sticky: workspace`, this applies to their requests without a workspace.',
    ),
  workspaces: z
    .array(z.uuid().toLowerCase())
    .default([])
    .describe('Workspaces that the service always serves. Requires `sticky: workspace`.'),
  seed: z
    .string()
    .max(64)
    .default('')
    .describe('Another text selects other workspaces and accounts. Domains with the same seed select the same ones.'),
  maxErrorShare: share
    .default(0.05)
    .describe(
      'Maximum share of failed requests within `windowMs`. Above it, the backend serves all requests again. Timeouts, invalid replies and unavailability count as failures. The caller with the most failures is left out, unless it is the only one.',
    ),
  minRequests: z
    .int()
    .min(1)
    .default(20)
    .describe('Number of requests within `windowMs` below which `maxErrorShare` does not apply.'),
  windowMs: timeoutMs(1_000).default(60_000).describe('Length in milliseconds of the window of `maxErrorShare`.'),
})

const inProcess = 'in-process'

export const place = upstream.extend({
  url: z
    .union([z.literal(inProcess), baseUrl], { error: urlError })
    .describe(
      'Base URL of the service, to which the path of the operation is appended. `in-process` only with `shadow` or `canary`.',
    ),
  shadow: shadow.optional().describe('Sends a copy of reads to another service, and compares its replies.'),
  canary: canary.optional().describe('Lets another service serve some workspaces and accounts.'),
})

export const backendSettings = z
  .record(
    z.string(),
    z
      .union([z.literal(inProcess), place], { error: '`in-process`, or settings with a `url`' })
      .describe('Backend for the domain with this name. The entry `default` applies to all other domains.'),
  )
  .describe('Where each domain is served: `in-process`, or by an HTTP service with these settings.')

export type UpstreamConfiguration = z.output<typeof upstream>
export type ShadowConfiguration = z.output<typeof shadow>
export type CanaryConfiguration = z.output<typeof canary>

/** The services that a domain tries besides its backend. */
export interface TrialConfiguration {
  shadow: ShadowConfiguration | null
  canary: CanaryConfiguration | null
}

type BackendSettings = { backends: z.output<typeof backendSettings> }

export function placeOf(settings: BackendSettings, domain: string): UpstreamConfiguration | 'in-process' {
  const entry = entryOf(settings, domain)
  if (entry === inProcess || entry.url === inProcess) return inProcess
  if (!entry.shadow && !entry.canary) return entry
  const { shadow: _shadow, canary: _canary, ...service } = entry
  return service
}

export function trialOf(settings: BackendSettings, domain: string): TrialConfiguration {
  const entry = entryOf(settings, domain)
  return entry === inProcess ? noTrial : { shadow: entry.shadow ?? null, canary: entry.canary ?? null }
}

/** Every service that `backends` names, by the path of its settings. */
export function backendServices({ backends }: BackendSettings) {
  return Object.entries(backends).flatMap(([name, entry]) => {
    if (entry === undefined || entry === inProcess) return []
    const path = `backends.${name}`
    return [
      ...(entry.url === inProcess ? [] : [{ path, ...entry }]),
      ...(entry.shadow ? [{ path: `${path}.shadow`, ...entry.shadow }] : []),
      ...(entry.canary ? [{ path: `${path}.canary`, ...entry.canary }] : []),
    ]
  })
}

/** The maximum size of a domain's JSON reply, wherever its handlers run. */
export function maxReplyBytesOf(settings: BackendSettings, domain: string): number {
  const place = placeOf(settings, domain)
  return place === 'in-process' ? defaultMaxReplyBytes : place.maxReplyBytes
}

/** Settings for a service that the configuration may not name yet. Without a setting, the default applies. */
export function upstreamSettings(
  settings: BackendSettings,
  domain: string,
  changes: Partial<z.input<typeof upstream>> & { url: string },
): UpstreamConfiguration {
  const place = placeOf(settings, domain)
  return upstream.parse({ ...(place === 'in-process' ? {} : place), ...changes })
}

const noTrial: TrialConfiguration = { shadow: null, canary: null }

function entryOf({ backends }: BackendSettings, domain: string) {
  return backends[domain] ?? backends.default ?? inProcess
}

function shareError(): string {
  return 'a fraction from 0 to 1, such as 0.05 for 5 percent'
}

/** The message about the URL, not about the alternative to it. */
function urlError(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === 'invalid_union' ? issue.errors.at(-1)?.[0]?.message : undefined
}

/** Headers that the gateway sets, that concern one connection, or that contain credentials. */
const reservedHeader =
  /^(authorization|dpop|cookie|set-cookie2?|www-authenticate|host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|forwarded|access-control-.*|location|refresh|via|content-(length|type|encoding)|x-(portal-access-code|client-.*|forwarded-.*|request-id|locale|workspace-id|secure-channel-.*|sc-session-id)|cf-.*|ratelimit.*|strict-transport-security|content-security-policy|traceparent|tracestate)$/

const headerNames = z.array(
  z
    .string()
    .regex(/^[a-z0-9-]{1,64}$/, 'a header name in lower case')
    .refine((name) => !reservedHeader.test(name), 'a header that the gateway does not control itself'),
)

/** Without the keys of an operation's policy that require the gateway to read the reply. */
const prefixPolicy = PolicyShape.omit({ channel: true, idempotent: true, changesRights: true })
  .refine(
    ({ caller, workspace, permission, stepUp }) =>
      caller === 'account' || (workspace === 'none' && permission === null && !stepUp),
    '`caller: account` for a policy with a workspace, a permission or `stepUp`',
  )
  .describe('Policy for every request below the prefix. It has these keys of an operation’s policy.')

const passThroughPrefix = upstream.extend({
  prefix: z
    .string()
    .regex(/^(\/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)+$/, 'a path such as /web/v1/consumer/legacy')
    .describe('Path prefix on a chain, such as `/web/v1/consumer/legacy`. The rest of the path is appended to `url`.'),
  name: z
    .string()
    .regex(/^[a-z][A-Za-z0-9]{0,63}$/, 'a name such as legacy')
    .optional()
    .describe(
      'Name of the prefix in logs, metrics and `/explain`: `passThrough.<name>`. The default is the prefix without its chain.',
    ),
  methods: z
    .array(z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']))
    .min(1)
    .default(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
    .describe('Accepted methods. `GET` includes HEAD. Other methods get 405.'),
  policy: prefixPolicy,
  requestHeaders: headerNames.default([]).describe('Request headers to forward in addition to the default ones.'),
  responseHeaders: headerNames.default([]).describe('Response headers to relay in addition to the default ones.'),
})

export const passThroughSettings = z
  .array(passThroughPrefix)
  .describe('Path prefixes of systems that are being migrated. Each prefix has one policy and one service.')

export type PassThroughPrefix = z.output<typeof passThroughPrefix>
