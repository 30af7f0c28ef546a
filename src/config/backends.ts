import { z } from 'zod'
import { baseUrl, timeoutMs } from './values.ts'

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
      'Total time limit of a call in milliseconds. It includes the wait in the queue and the retry of a GET. A later reply results in 504.',
    ),
  maxReplyBytes: z
    .int()
    .min(1_024)
    .default(5_242_880)
    .describe('Maximum size of a JSON reply in bytes. A larger reply results in 502.'),
  streamTimeoutMs: timeoutMs(10)
    .default(300_000)
    .describe('Total time limit of an upload or download in milliseconds. After it, the stream is aborted.'),
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
    .describe(
      'Maximum number of concurrent requests to the upstream. Streams have a separate limit of the same size. Further requests wait in the queue.',
    ),
  queue: z.int().min(0).default(256).describe('Maximum number of requests in the queue. Further requests get 503.'),
  breaker: z
    .strictObject({
      failures: z.int().min(1).describe('Number of consecutive failures after which the circuit breaker opens.'),
      openMs: timeoutMs(0).describe(
        'Time in milliseconds after which an open circuit breaker allows one trial request.',
      ),
    })
    .default({ failures: 5, openMs: 5_000 })
    .describe('Circuit breaker. While it is open, requests get 503 and are not sent.'),
})

export const backendSettings = z
  .record(
    z.string(),
    z
      .union([z.literal('in-process'), upstream], { error: '`in-process`, or settings with a `url`' })
      .describe('Backend of the domain with this name. `default` serves all domains without an entry.'),
  )
  .describe('Where each domain is served: `in-process`, or by an HTTP service.')

export type UpstreamConfiguration = z.output<typeof upstream>

/** Returns the place where a domain is served: its own setting, or else `default`, or else this process. */
export const placeOf = (
  { backends }: { backends: z.output<typeof backendSettings> },
  domain: string,
): UpstreamConfiguration | 'in-process' => backends[domain] ?? backends.default ?? 'in-process'
