import { hash, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import type { Portal } from '../../kernel/index.ts'
import { links } from '../identity.ts'
import { identityProviders } from '../providers/settings.ts'
import { appSettings, siteSettings } from '../site.ts'
import { cidr, coverInternet, hostName, httpUrl, isOrigin, lifetimeMs, mailDomain } from '../values.ts'

/** The digest of an empty text would match requests without an access code. */
const codeDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex')
  .refine((hex) => hex !== hash('sha256', ''), 'not the SHA-256 of an empty text')

export const limitRule = z.strictObject({
  limit: z.int().min(1).describe('Maximum number of requests within `windowMs`. Further requests get 429.'),
  windowMs: lifetimeMs(1_000).describe('Length in milliseconds of the window in which requests are counted.'),
})
export const groupRules = z.strictObject({
  address: limitRule.optional().describe('Limit for each client address.'),
  account: limitRule
    .optional()
    .describe(
      'Limit for each account. The sessions of an account share one counter, and its API keys share another one. In `mfaSend` and `forgot`, the limit applies to emails to an account. In `registration`, it applies to emails to an address. The limit has no effect in `passkeyOptions`, `channelOpen` and `refresh`, whose operations do not require a sign-in.',
    ),
  network: limitRule
    .optional()
    .describe(
      'Limit for each client network: an IPv4 /24 or an IPv6 /48. Requests rejected by `address` are not counted.',
    ),
  total: limitRule
    .optional()
    .describe(
      'Limit for all clients of a portal together. Requests rejected by `address` or `network` are not counted.',
    ),
})

export const anyAddress = limitRule.describe(
  'Limit for each client address in total, over all operations. Requests with an unknown path or a wrong access code are counted, too.',
)

const passkeys = z
  .strictObject({
    rpId: hostName
      .refine((name) => name === name.toLowerCase(), 'a host name in lower case')
      .describe(
        'The relying party id: the host name of the pages, or a parent domain of it. Passkeys are bound to it, so that a change makes all passkeys of the portal useless.',
      ),
    origins: z
      .array(httpUrl.refine(isOrigin, 'an origin such as https://portal.example'))
      .min(1)
      .describe(
        'Origins of the pages that can register and use passkeys. In production they must be https, except for localhost.',
      ),
    userVerification: z
      .literal('required', { error: '`required`' })
      .describe(
        'The authenticator must verify the user by PIN or biometry. A passkey therefore counts as two factors.',
      ),
    attestation: z
      .union(
        [
          z.literal('none'),
          z.strictObject({
            allowList: z.array(z.uuid().toLowerCase()).min(1).describe('AAGUIDs of the models that are accepted.'),
            roots: z
              .array(z.string().refine(isCertificate, 'a certificate in PEM'))
              .min(1)
              .describe('PEM certificates of the authorities of the manufacturers, to which an attestation must lead.'),
          }),
        ],
        { error: '`none`, or a map with `allowList` (AAGUIDs) and `roots` (certificates in PEM)' },
      )
      .describe(
        'Which authenticators can be registered. `none` accepts all of them. An object accepts the models in `allowList`, and requires a packed attestation.',
      ),
  })
  .describe(
    'Passkeys (WebAuthn) of the portal. Without this setting, the portal has no passkeys, and its operations answer with AUTH.PASSKEYS_NOT_AVAILABLE.',
  )

const requiredFactors = z
  .strictObject({
    passkey: z
      .union([z.enum(['none', 'all']), z.array(z.string()).min(1)], {
        error: '`none`, `all`, or a list of permissions',
      })
      .describe(
        'Which operations need a passkey. `none` requires none. A list of permissions requires a session that was started with a passkey, and a step-up with one, for operations with these permissions. On CONSUMER, they are permissions of workspace roles. `all` requires it for every operation, except those with which a person secures the account or registers its first passkey. On SYSTEM, `all` applies to accounts with permissions.',
      ),
  })
  .describe('Factors that people must use. They need `passkeys` of the portal.')

const portal = z.strictObject({
  accessCodes: z
    .array(codeDigest)
    .min(1)
    .describe(
      'SHA-256 digests of the valid access codes of the portal, in lower-case hex. To replace a code, temporarily list both the old and the new code.',
    ),
  edge: z.strictObject({
    kind: z
      .enum(['cloudflare', 'direct'])
      .describe(
        'How the client address is determined. `cloudflare` requires the headers that Cloudflare sets. `direct` uses X-Forwarded-For from trusted proxies, or else the address of the socket.',
      ),
    trustedProxies: z
      .array(cidr)
      .refine((ranges) => !coverInternet(ranges), 'ranges that do not cover the whole internet')
      .describe(
        'Address ranges of the proxies whose Cloudflare and X-Forwarded-For headers are trusted. These headers are ignored if they come from any other peer.',
      ),
    acceptWideRanges: z
      .boolean()
      .optional()
      .describe(
        'Whether production accepts ranges in `trustedProxies` that are wider than /16 (IPv4) or /32 (IPv6). Every host in a range can choose the client address.',
      ),
    cloudflareRanges: z
      .array(cidr)
      .min(1)
      .refine((ranges) => !coverInternet(ranges), 'ranges that do not cover the whole internet')
      .optional()
      .describe(
        'With `cloudflare`: address ranges of Cloudflare. The last hop in X-Forwarded-For must be in one of them, so that only Cloudflare can reach the gateway through the load balancer.',
      ),
    secretHeader: z
      .strictObject({
        name: z
          .string()
          .regex(/^[a-z0-9-]{1,64}$/, 'a header name in lower case')
          .describe('Name of the header, in lower case.'),
        sha256: z
          .array(codeDigest)
          .min(1)
          .describe(
            'SHA-256 digests of the accepted values, in lower-case hex. To replace a value, temporarily list both the old and the new one.',
          ),
      })
      .optional()
      .describe(
        'A header with a secret that the edge adds to each request. Requests without it are treated like those from an untrusted peer.',
      ),
    clientCertificate: z
      .strictObject({
        header: z
          .string()
          .regex(/^[a-z0-9-]{1,64}$/, 'a header name in lower case')
          .describe('Name of the header, in lower case. The edge must remove it from requests of clients.'),
        format: z
          .enum(['rfc9440', 'pem', 'xfcc', 'sha256Hex'])
          .describe(
            'Format of the header: the certificate as in RFC 9440 (`rfc9440`) or as percent-encoded PEM (`pem`), Envoy’s X-Forwarded-Client-Cert (`xfcc`), or the SHA-256 of the certificate in hex (`sha256Hex`).',
          ),
      })
      .optional()
      .describe(
        'A header with the client certificate of the connection to the edge, for API keys that are bound to a certificate. It is ignored if it comes from any other peer than a trusted proxy. Without the setting, such keys do not work.',
      ),
  }),
  selfRegistration: z
    .enum(['closed', 'open', 'approval'])
    .describe(
      'Whether users can register. `closed` rejects registrations, `open` creates accounts immediately, and with `approval` an operator must approve each account. The setting has no effect on SYSTEM, which has no registration.',
    ),
  refusedDomains: z
    .array(mailDomain)
    .describe(
      'Mail domains, including their subdomains, whose addresses cannot register or be invited. List your operators’ domain for CONSUMER, so that operators cannot get accounts there. The setting has no effect on SYSTEM, which has no registration.',
    ),
  limits: z
    .strictObject({
      address: anyAddress.optional(),
      groups: z
        .record(z.string(), groupRules)
        .optional()
        .describe('Rate limits for this portal by operation group, with the same settings as `limits.groups`.'),
    })
    .optional()
    .describe('Rate limits for this portal. Each limit replaces the corresponding one in `limits`.'),
  channelMandatory: z
    .array(z.string())
    .describe(
      'Operation groups whose request bodies must be encrypted with the secure channel. `/openapi.json` contains the group of each operation.',
    ),
  compatibility: z
    .strictObject({
      observedErrors: z
        .boolean()
        .describe(
          'Whether two invalid requests get 500, as the interface documents, or 400 (`false`). The requests are listing transfers without a query, and closing a channel without a session.',
        ),
    })
    .describe('Compatibility with unusual status codes that the interface documents.'),
  mfa: z
    .strictObject({
      mailCodes: z
        .enum(['always', 'untilAuthenticator', 'never'])
        .describe(
          'Whether an emailed code is accepted as the second factor. `always` accepts it, `untilAuthenticator` accepts it until the account has an authenticator, and `never` rejects it. With `never`, operators without an approve, confirm, verify, settle or manage permission can use emailed codes until they have an authenticator.',
        ),
      required: requiredFactors,
    })
    .describe('Second factors for sign-ins and step-ups.'),
  passkeys: passkeys.optional(),
  links: links,
  identityProviders,
  origins: z
    .array(httpUrl.refine(isOrigin, 'an origin such as https://portal.example'))
    .describe(
      'Origins of pages that can call the portal from a browser, in addition to the origin of `publicUrl`. Their scripts can read replies (CORS), and they can open WebSockets. Requests with the session cookie from pages of any other origin get 403. In production they must be https, except for loopback addresses.',
    ),
  hosts: z
    .array(hostName.refine((name) => name === name.toLowerCase(), 'a host name in lower case'))
    .describe(
      'Host names that belong to this portal only, without a port. They select the `site` of a request by its `Host`. Their pages can use the session cookie, like pages of `publicUrl`. If a portal with a site has none, its site is served under every name.',
    ),
  site: siteSettings.optional(),
  app: appSettings,
  cookie: z
    .strictObject({
      sameSite: z
        .enum(['strict', 'lax'])
        .describe(
          '`strict` sends the cookie only with requests from pages of the same site. `lax` also sends it when a link on another site opens a page, so that a server that renders pages sees the session.',
        ),
      persistent: z
        .boolean()
        .describe('Whether the cookie stays when the browser is closed, until the session expires.'),
    })
    .describe('The cookie of browser sessions. It is always `HttpOnly`, and `Secure` unless `publicUrl` is http.'),
})

const domainName = z.string().regex(/^[a-zA-Z][a-zA-Z0-9]*$/, 'the name of a domain')

const additionalPortal = portal.extend({
  prefix: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, 'one segment of a path, such as merchant')
    .describe(
      'Segment of the paths of an additional portal. With `merchant`, its operations are below `/web/v1/merchant` and `/api/v1/merchant`. No other portal and no operation can have it.',
    ),
  code: z
    .int()
    .min(1)
    .describe('Number of an additional portal in the coded value `accountPortal`. No other portal has it.'),
  name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Label of an additional portal in `accountPortal`. Default: its key.'),
  domains: z
    .union([z.literal('all'), z.array(domainName)], { error: '`all`, or a list of domains' })
    .describe(
      'Domains whose consumer operations an additional portal offers. All other operations get 404. Sign-in, security and registration are always offered. `passThrough` in the list stands for the prefixes of `passThrough`.',
    ),
})

export type PortalConfiguration = z.output<typeof portal> &
  Partial<Pick<z.output<typeof additionalPortal>, 'prefix' | 'code' | 'name' | 'domains'>>

/** By name. CONSUMER and SYSTEM have neither a prefix nor a code. */
export interface Portals {
  readonly [name: string]: PortalConfiguration
  readonly CONSUMER: PortalConfiguration
  readonly SYSTEM: PortalConfiguration
}

export const portalSettings: z.ZodType<Portals> = z
  .object({ CONSUMER: portal, SYSTEM: portal })
  .catchall(additionalPortal)
  .refine(haveDistinctCodes, 'access codes that differ between the portals')

/** Whether the gateway would accept the calls of the application. */
export function hasAppCode({ app, accessCodes }: Pick<PortalConfiguration, 'app' | 'accessCodes'>): boolean {
  return app !== null && accessCodes.includes(hash('sha256', app.accessCode))
}

/** Throws for a portal that the deployment does not have. */
export function settingsOfPortal<Settings>(portals: Readonly<Record<string, Settings>>, portal: Portal): Settings {
  const settings = Object.hasOwn(portals, portal) ? portals[portal] : undefined
  if (settings === undefined) throw new Error(`the deployment has no portal ${portal}`)
  return settings
}

function haveDistinctCodes(portals: Portals): boolean {
  const codes = Object.values(portals).flatMap(({ accessCodes }) => [...new Set(accessCodes)])
  return new Set(codes).size === codes.length
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}
