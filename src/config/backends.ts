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
      'Maximum number of concurrent requests to the upstream. Uploads and downloads have a separate limit of the same size. Further requests wait in the queue.',
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

export const backendSettings = z
  .record(
    z.string(),
    z
      .union([z.literal('in-process'), upstream], { error: '`in-process`, or settings with a `url`' })
      .describe('Backend for the domain with this name. The entry `default` applies to all other domains.'),
  )
  .describe('Where each domain is served: `in-process`, or by an HTTP service with these settings.')

export type UpstreamConfiguration = z.output<typeof upstream>

export function placeOf(
  { backends }: { backends: z.output<typeof backendSettings> },
  domain: string,
): UpstreamConfiguration | 'in-process' {
  return backends[domain] ?? backends.default ?? 'in-process'
}

/** The maximum size of a domain's JSON reply, wherever its handlers run. */
export function maxReplyBytesOf(settings: { backends: z.output<typeof backendSettings> }, domain: string): number {
  const place = placeOf(settings, domain)
  return place === 'in-process' ? defaultMaxReplyBytes : place.maxReplyBytes
}

/** Settings for a service that the configuration may not name yet. Without a setting, the default applies. */
export function upstreamSettings(
  settings: { backends: z.output<typeof backendSettings> },
  domain: string,
  changes: Partial<z.input<typeof upstream>> & { url: string },
): UpstreamConfiguration {
  const place = placeOf(settings, domain)
  return upstream.parse({ ...(place === 'in-process' ? {} : place), ...changes })
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
