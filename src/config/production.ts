import { hash } from 'node:crypto'
import { z } from 'zod'
import { isVariableName, settingName, type Variables } from './env.ts'
import { productionOtlpErrors } from './environment/otlp.ts'
import { isLocal, productionServerErrors } from './environment/server-urls.ts'
import { isHttps, isWideRange, valueAt } from './values.ts'

const developmentAccessCodes = ['consumer-dev', 'system-dev']
export const developmentAccessCodeHashes: ReadonlySet<string> = new Set(developmentAccessCodes.map(sha256))

/** From config/production.example.yaml, deploy/kubernetes and docs/guides/another-portal.md. */
const exampleAccessCodes = ['test', 'test2', 'merchant-dev']
export const exampleAccessCodeHashes: ReadonlySet<string> = new Set(exampleAccessCodes.map(sha256))

/** The development profile's key, which is public. */
export function developmentKey(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(hash('sha256', 'portico development key', 'buffer'))
}

/*
 * A random key fails one of these checks with a probability below 1e-10: 4.6e-12 for 18 or fewer distinct bytes of 32,
 * 4.8e-11 for 18 or fewer distinct differences of 31, 7.7e-12 for 16 or fewer distinct base64 characters of 42, and
 * 1.7e-14 for only printable ASCII.
 */
const minDistinctBytes = 19
const minDistinctCharacters = 17

/** A key that passes may still be predictable. */
export function isPredictableKey(base64: string): boolean {
  const bytes = [...Buffer.from(base64, 'base64')]
  const steps = bytes.slice(1).map((byte, index) => (byte - (bytes[index] ?? 0)) & 0xff)
  return (
    new Set(bytes).size < minDistinctBytes ||
    new Set(steps).size < minDistinctBytes ||
    new Set(base64.trim().replace(/=$/, '')).size < minDistinctCharacters ||
    bytes.every(isPrintable)
  )
}

const CheckedEdge = z.object({
  kind: z.string().optional(),
  trustedProxies: z.array(z.string()).catch([]),
  acceptWideRanges: z.boolean().catch(false),
  cloudflareRanges: z.array(z.unknown()).catch([]),
  secretHeader: z.unknown().optional(),
})
type CheckedEdge = z.output<typeof CheckedEdge>
const noEdge: CheckedEdge = {
  trustedProxies: [],
  acceptWideRanges: false,
  cloudflareRanges: [],
  secretHeader: undefined,
}

const Section = z.record(z.string(), z.unknown()).catch({})

/** Settings, apart from those of upstreams, with a URL to which the process connects. */
const connections = [
  ['assertion', 'jwksUrl'],
  ['files.storage', 'endpoint'],
  ['money.exchange.provider', 'url'],
  ['passwords.breachCheck', 'url'],
  ['turnstile', 'verifyUrl'],
  ['audit.export', 'to'],
] as const

/** Sections without `acceptPlain`, because their services are public, on this machine, or get what must stay secret. */
const publicServices: ReadonlySet<string> = new Set(['passwords.breachCheck', 'turnstile', 'audit.export'])

/** The AWS SDK uses the first of them that is set, unless `files.storage.endpoint` is set. */
const storageEndpoints = ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'] as const

/** Malformed settings get defaults here, because the schema reports them. */
const CheckedProvider = z.object({ issuer: z.string(), returnTo: z.array(z.string()).catch([]) })

const CheckedSettings = z.object({
  profile: z.unknown(),
  publicUrl: z.string().nullable().catch(null),
  mail: z.object({ from: z.string() }).catch({ from: '' }),
  database: z.object({ acceptEmbedded: z.boolean() }).catch({ acceptEmbedded: false }),
  limits: z.object({ scale: z.number() }).catch({ scale: 1 }),
  backends: z.record(z.string(), z.unknown()).catch({}),
  passThrough: z.array(z.unknown()).catch([]),
  files: z.object({ storage: Section }).catch({ storage: {} }),
  portals: z
    .record(
      z.string(),
      z
        .object({
          accessCodes: z.array(z.string()).catch([]),
          links: z.record(z.string(), z.string()).catch({}),
          identityProviders: z.array(CheckedProvider).catch([]),
          origins: z.array(z.string()).catch([]),
          passkeys: z.object({ origins: z.array(z.string()) }).catch({ origins: [] }),
          site: z.object({ url: z.unknown() }).catch({ url: undefined }),
          edge: CheckedEdge.catch(noEdge),
        })
        .catch({
          accessCodes: [],
          links: {},
          identityProviders: [],
          origins: [],
          passkeys: { origins: [] },
          site: { url: undefined },
          edge: noEdge,
        }),
    )
    .catch({}),
})

/** Variables that Kubernetes sets in each pod for a service whose name begins with `portico`. */
const serviceLink = /^PORTICO_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$/

/** Without a profile, the development profile would apply to a deployment that looks like production. */
export function missingProfileErrors(profile: string | undefined, tree: unknown, variables: Variables): string[] {
  if (profile !== undefined) return []
  const { portals } = CheckedSettings.parse(tree)
  const codes = Object.values(portals).flatMap(({ accessCodes }) => accessCodes)
  const isOwn = codes.length > 0 && !codes.some((code) => developmentAccessCodeHashes.has(code))
  const reason =
    variables.NODE_ENV === 'production'
      ? 'NODE_ENV is production'
      : variables.DATABASE_URL && isOwn
        ? 'DATABASE_URL is set, and no access code is a development code'
        : undefined
  return reason === undefined ? [] : [`PORTICO_PROFILE: must be set to production or development: ${reason}`]
}

export function productionErrors(tree: unknown, variables: Variables): string[] {
  const settings = CheckedSettings.parse(tree)
  if (settings.profile !== 'production') return []
  const errors: string[] = []
  for (const [name, portal] of Object.entries(settings.portals)) {
    if (portal.accessCodes.some((code) => developmentAccessCodeHashes.has(code)))
      errors.push(`portals.${name}.accessCodes: contains a development code; replace it`)
    if (portal.accessCodes.some((code) => exampleAccessCodeHashes.has(code)))
      errors.push(`portals.${name}.accessCodes: contains a code from an example; replace it`)
    errors.push(...edgeErrors(name, portal.edge))
    for (const [link, page] of Object.entries(portal.links))
      if (isWithoutTls(page)) errors.push(`portals.${name}.links.${link}: must be https in production`)
    for (const [index, { issuer, returnTo }] of portal.identityProviders.entries()) {
      const path = `portals.${name}.identityProviders.${index}`
      if (isPlain(issuer)) errors.push(`${path}.issuer: must be https in production`)
      for (const page of returnTo)
        if (isWithoutTls(page)) errors.push(`${path}.returnTo: ${page} must be https in production`)
    }
    for (const origin of portal.origins)
      if (isPlain(origin)) errors.push(`portals.${name}.origins: ${origin} must be https in production`)
    for (const origin of portal.passkeys.origins)
      if (isPlain(origin)) errors.push(`portals.${name}.passkeys.origins: ${origin} must be https in production`)
    if (portal.site.url !== undefined)
      errors.push(`portals.${name}.site.url: is only for development; set portals.${name}.site.directory`)
  }
  const key = variables.PORTICO_SECRET_KEY
  if (key === undefined) errors.push('PORTICO_SECRET_KEY: must be set in production (32 bytes, base64)')
  else if (Buffer.from(key, 'base64').equals(developmentKey()))
    errors.push('PORTICO_SECRET_KEY: is the development key')
  else if (isPredictableKey(key))
    errors.push('PORTICO_SECRET_KEY: is not random; generate a key with `openssl rand -base64 32`')
  const previous = variables.PORTICO_SECRET_KEY_PREVIOUS?.split(',') ?? []
  if (previous.some((each) => Buffer.from(each, 'base64').equals(developmentKey())))
    errors.push('PORTICO_SECRET_KEY_PREVIOUS: contains the development key')
  else if (previous.some(isPredictableKey))
    errors.push(
      'PORTICO_SECRET_KEY_PREVIOUS: contains a key that is not random; generate keys with `openssl rand -base64 32`',
    )
  if (!variables.DATABASE_URL && !settings.database.acceptEmbedded)
    errors.push(
      'DATABASE_URL: must be set in production, or database.acceptEmbedded must be true (embedded store, one process)',
    )
  const { kind, shared } = settings.files.storage
  if (variables.REDIS_URL && kind === 'disk' && shared !== true)
    errors.push(
      'files.storage.kind: must be s3 in production with REDIS_URL, or files.storage.shared must be true (all replicas share the folder)',
    )
  if (settings.limits.scale > 1) errors.push(`${settingName('limits.scale')}: must be at most 1 in production`)
  const { publicUrl } = settings
  if (publicUrl !== null && !isHttps(publicUrl)) errors.push('publicUrl: must be https in production')
  if (!variables.SMTP_URL) errors.push('SMTP_URL: must be set in production; codes are sent by mail')
  errors.push(
    ...productionServerErrors(variables),
    ...productionOtlpErrors(variables),
    ...plainErrors(tree, settings, variables),
    ...unknownVariableErrors(variables),
  )
  if (variables.NODE_TLS_REJECT_UNAUTHORIZED === '0')
    errors.push('NODE_TLS_REJECT_UNAUTHORIZED: must not be 0 in production; name the authority in NODE_EXTRA_CA_CERTS')
  if (settings.mail.from.includes('portico.test')) errors.push('mail.from: is the development address')
  return errors
}

/* Production rejects these public values of the development profile and the examples. */
function sha256(text: string): string {
  return hash('sha256', text)
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f
}

function edgeErrors(name: string, edge: CheckedEdge): string[] {
  const path = `portals.${name}.edge`
  const wide = edge.acceptWideRanges ? [] : edge.trustedProxies.filter(isWideRange)
  const isUnchecked = edge.kind === 'cloudflare' && edge.cloudflareRanges.length === 0 && !edge.secretHeader
  return [
    ...wide.map(
      (range) =>
        `${path}.trustedProxies: ${range} is wider than /16 (IPv4) or /32 (IPv6); name the proxies, or set acceptWideRanges`,
    ),
    ...(isUnchecked && edge.trustedProxies.length > 0
      ? [`${path}: cloudflare needs cloudflareRanges or secretHeader in production`]
      : []),
  ]
}

/** A page without TLS would expose reset tokens. Paths are below `publicUrl`. */
function isWithoutTls(page: string): boolean {
  return URL.parse(page)?.protocol === 'http:'
}

function plainErrors(
  tree: unknown,
  { backends, passThrough, files }: z.output<typeof CheckedSettings>,
  variables: Variables,
): string[] {
  const { kind, endpoint } = files.storage
  const variable = kind === 's3' && endpoint === undefined && storageEndpoints.find((name) => variables[name])
  const places = [
    ...Object.entries(backends).flatMap(([name, place]) => [
      [`backends.${name}`, 'url', place] as const,
      ...['shadow', 'canary'].map((kind) => [`backends.${name}.${kind}`, 'url', valueAt(place, kind)] as const),
    ]),
    ...passThrough.map((place, index) => [`passThrough.${index}`, 'url', place] as const),
    ...connections.map(([path, setting]) => [path, setting, valueAt(tree, path)] as const),
  ].map(([path, setting, place]) => ({ path, name: `${path}.${setting}`, url: valueAt(place, setting), place }))
  if (variable) places.push({ path: 'files.storage', name: variable, url: variables[variable], place: files.storage })
  return places.flatMap(({ path, name, url, place }) => {
    const isPublic = publicServices.has(path)
    if (!isPlain(url) || (!isPublic && valueAt(place, 'acceptPlain') === true)) return []
    return [`${name}: must be https in production${isPublic ? '' : `, or ${path}.acceptPlain must be true`}`]
  })
}

/** Whether the URL leaves this machine without TLS. */
function isPlain(url: unknown): boolean {
  const parsed = typeof url === 'string' ? URL.parse(url) : null
  return parsed?.protocol === 'http:' && !isLocal(parsed)
}

function unknownVariableErrors(variables: Variables): string[] {
  return Object.keys(variables)
    .filter((name) => name.startsWith('PORTICO_') && !isVariableName(name) && !serviceLink.test(name))
    .map((name) => `${name}: is not a variable of Portico; remove it or correct its name`)
}
