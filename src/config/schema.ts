import { z } from 'zod'
import { hours, isSender } from '../kernel/index.ts'
import { backendSettings, passThroughSettings } from './backends.ts'
import type { SecretKeys } from './environment/secret-keys.ts'
import * as identity from './identity.ts'
import { accessSettings } from './identity.ts'
import {
  auditSettings,
  databaseSettings,
  eventSettings,
  explainSettings,
  fileSettings,
  jobSettings,
  logFieldSettings,
  redisSettings,
  runtimeSettings,
  shutdownSettings,
  streamSettings,
  tracingSettings,
} from './infrastructure.ts'
import { moneySettings } from './ledger.ts'
import { limitSettings } from './portals/limits.ts'
import { portalSettings } from './portals/settings.ts'
import { baseUrl, host, hostName, httpUrl, lifetimeMs, mailDomain, type Secret, timeoutMs } from './values.ts'

const port = z.int().min(0).max(65_535)
/** Unknown keys are rejected. Durations are in milliseconds, sizes in bytes. */
export const schema = z.strictObject({
  profile: z
    .enum(['development', 'production'])
    .describe(
      'Profile of the deployment. In `production`, Portico refuses to start with development codes, keys or addresses, with predictable keys, with increased limits, or without required settings.',
    ),
  publicUrl: baseUrl.describe('Public base URL of this deployment, on which links in emails are based.'),
  listen: z
    .strictObject({
      host: host.describe('Address or host name to which the listeners bind.'),
      port: port.describe('Port of the portal listener. 0 selects a free port.'),
      operationsPort: port.describe('Port of the operations listener. 0 selects a free port.'),
      operationsHost: host
        .nullable()
        .describe('Address or host name to which the operations listener binds. `null` selects `listen.host`.'),
      operationsAllowedHosts: z
        .array(hostName)
        .describe(
          'Host names, without a port, under which clients can reach the operations listener. IP addresses are always allowed. Requests with any other name in `Host` get 421, except for `/health/*`, so that no web page can read the listener through DNS rebinding. In development, this also applies to the sign-in codes of `/docs`, and to a `site` with a `url` and without `hosts`.',
        ),
    })
    .describe(
      'Addresses of the portal listener and of the operations listener. The operations listener must be reachable only from a private network.',
    ),
  log: z
    .strictObject({
      level: z
        .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
        .describe('Minimum level of log lines. Lines below this level are not written.'),
      format: z
        .enum(['auto', 'json', 'pretty'])
        .describe(
          '`json` writes one JSON object per line. `pretty` writes lines for people, in color if standard output is a terminal and `NO_COLOR` is not set. `auto` selects `pretty` on a terminal and `json` elsewhere.',
        ),
      fields: logFieldSettings,
    })
    .describe(
      'Log on standard output. Each request is logged at level `info`, and each server error at level `error`.',
    ),
  audit: auditSettings,
  reference: z
    .strictObject({
      enabled: z
        .boolean()
        .describe(
          'Whether the portal listener serves `/docs` and `/openapi.json`. With `false`, requests for them get 404.',
        ),
      portal: z
        .union([z.string(), z.null()])
        .describe(
          'Portal whose operations `/docs` and `/openapi.json` describe. `null` describes CONSUMER and SYSTEM. `/openapi.json?portal=<name>` then describes one portal.',
        ),
    })
    .describe('The reference pages of the portal listener. They need no sign-in.'),
  portals: portalSettings,
  limits: limitSettings,
  requests: z.strictObject({
    maxBodyBytes: z
      .int()
      .min(1_024)
      .describe(
        'Maximum size of a JSON body in bytes. Larger bodies get 413. The size of uploads is limited by `files.purposes`.',
      ),
    bodyTimeoutMs: timeoutMs(100).describe(
      'Time limit in milliseconds for receiving a JSON body. Slower requests get 408.',
    ),
    headersTimeoutMs: timeoutMs(100).describe(
      'Time limit in milliseconds for receiving the headers of a request. Slower requests get 408.',
    ),
    downloadStallMs: timeoutMs(100).describe(
      'Maximum time in milliseconds for which a client can stop reading a response. After this time, the gateway aborts the response.',
    ),
    downloadBytesPerSecond: z
      .int()
      .min(1)
      .describe(
        'Minimum speed in bytes per second at which a client must read a streamed response, measured over `downloadStallMs`. The gateway aborts slower downloads.',
      ),
    maxTransfersPerAccount: z
      .int()
      .min(1)
      .describe(
        'Maximum number of open uploads, downloads, and requests of raw operations and `passThrough` prefixes, per account and replica. Further ones get 429. All API keys of an account share a separate count.',
      ),
    maxTransfersPerAddress: z
      .int()
      .min(1)
      .describe(
        'Maximum number of open uploads, downloads, and requests of raw operations and `passThrough` prefixes, per client address and replica, for operations without a token. Further ones get 429.',
      ),
    uploadTimeoutMs: timeoutMs(1_000).describe(
      'Time limit in milliseconds for receiving a complete request, including an upload. Slower requests get 408.',
    ),
    handlerTimeoutMs: timeoutMs(10).describe(
      'Time limit in milliseconds for a handler of an extension in this process. If it does not reply in time, the client gets 504. For a service, `backends.<name>.timeoutMs` applies instead.',
    ),
  }),
  tokens: identity.tokens,
  sessions: identity.sessions,
  login: identity.login,
  access: accessSettings,
  notices: identity.notices,
  passwords: identity.passwords,
  mfa: identity.mfa,
  turnstile: identity.turnstile,
  background: identity.background,
  secureChannel: z.strictObject({
    sessionTtlMs: lifetimeMs(1_000).describe(
      'Lifetime of a secure channel session in milliseconds. When a session expires, the client must open a new one.',
    ),
    maxSessions: z
      .int()
      .min(1)
      .describe(
        'Maximum number of secure channel sessions per portal. The maximum is divided evenly over the minutes of `sessionTtlMs`. Once the share of a minute is used up, opening a session gets 429 until the next minute. A session in use takes up to 400 bytes in Redis, or in memory if there is no Redis.',
      ),
    keyTtlMs: lifetimeMs(hours(2)).describe(
      'Lifetime in milliseconds of a public key that the secure channel offers to clients. In its last hour, clients get the next key.',
    ),
  }),
  mail: z.strictObject({
    from: z
      .string()
      .refine(isSender, 'a sender such as Portal <no-reply@portal.example>')
      .describe('Sender of all emails, such as `Portal <no-reply@portal.example>`.'),
    carrierDomains: z
      .array(mailDomain)
      .describe(
        'Mail domains, including their subdomains, whose addresses can have two dots in a row, or a dot before the `@` or at the start, such as `a..b@docomo.ne.jp`. Japanese carriers assigned such addresses. At other domains they get 400.',
      ),
    timeoutMs: timeoutMs(100).describe(
      'Time limit in milliseconds for the mail server to accept an email, including the wait for one of five connections. When it expires, the attempt to send the email fails.',
    ),
  }),
  database: databaseSettings,
  redis: redisSettings,
  shutdown: shutdownSettings,
  runtime: runtimeSettings,
  money: moneySettings,
  files: fileSettings,
  jobs: jobSettings,
  events: eventSettings,
  explain: explainSettings,
  tracing: tracingSettings,
  backends: backendSettings,
  passThrough: passThroughSettings,
  streams: streamSettings.describe('Limits for event streams and WebSockets that are passed through to services.'),
  extensions: z
    .array(z.string().min(1))
    .describe(
      'JavaScript modules whose domains the gateway adds: packages in `node_modules` of the working directory, such as `@acme/loans`, or paths that begin with `./`, `../` or `/`.',
    ),
  operations: z
    .array(z.string().min(1))
    .describe(
      'OpenAPI 3.1 documents with `x-portico` whose operations are added to the gateway. `backends.<domain>` must specify the service that handles them.',
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
        .describe('Settings of the domain with this name, or `off` to remove the domain.'),
    )
    .describe(
      'Settings of domains, by domain name. `off` removes a domain together with its operations, permissions and jobs. `banking: off` removes all of Portico’s own domains.',
    ),
  assertion: z.strictObject({
    ttlMs: lifetimeMs(1_000).describe(
      'Lifetime in milliseconds of a call assertion, the token that the gateway sends to an upstream.',
    ),
    jwksUrl: httpUrl.describe('URL from which `serve --role domains` fetches the public keys of the gateway.'),
    acceptPlain: z
      .boolean()
      .describe(
        'Whether production can fetch the public keys over `http`. Without it, production requires `https`, except on a loopback address.',
      ),
    audience: z.string().min(1).describe('The `aud` claim that `serve --role domains` requires in call assertions.'),
  }),
  codedValues: z
    .record(z.string(), z.record(z.string(), z.int()).describe('Numbers for the coded values of one family, by code.'))
    .describe('Replaces the default numbers of coded values, by family and code.'),
})

/** The settings of the gateway. At run time, the configuration also holds those of domains, which `settingsAt` returns. */
export type Settings = z.output<typeof schema>

export interface Configuration extends Settings {
  dataDirectory: string
  secretKeys: Secret<SecretKeys>
  databaseUrl: Secret<string> | null
  redisUrl: Secret<string> | null
  smtpUrl: Secret<string> | null
  otlpEndpoint: string | null
}
