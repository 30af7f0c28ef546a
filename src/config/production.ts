import { hash } from 'node:crypto'
import { z } from 'zod'
import { settingName, type Variables } from './env.ts'
import { isHttps } from './values.ts'

/* Public values of the development profile and of the examples. Production refuses each of them. */
const sha256 = (text: string): string => hash('sha256', text)

const developmentAccessCodes = ['consumer-dev', 'system-dev']
export const developmentAccessCodeHashes: ReadonlySet<string> = new Set(developmentAccessCodes.map(sha256))

/** The access codes of config/production.example.yaml and deploy/kubernetes. */
const exampleAccessCodes = ['test', 'test2']
export const exampleAccessCodeHashes: ReadonlySet<string> = new Set(exampleAccessCodes.map(sha256))

/** Returns the key of the development profile. It is public. */
export const developmentKey = (): Uint8Array<ArrayBuffer> =>
  new Uint8Array(hash('sha256', 'portico development key', 'buffer'))

/*
 * Minimum number of distinct bytes. A random key fails one of these checks with a probability below 1e-10: 18 or fewer
 * distinct bytes of 32 have 4.6e-12, as few distinct differences of 31 have 4.8e-11, 16 or fewer distinct characters of
 * 42 in base64 have 7.7e-12, and only printable ASCII has 1.7e-14.
 */
const minDistinctBytes = 19
const minDistinctCharacters = 17

const isPrintable = (byte: number): boolean => byte >= 0x20 && byte < 0x7f

/**
 * Whether a key of 32 bytes in base64 is visibly not random: repeated bytes, consecutive bytes, text, hexadecimal
 * digits, or a short pattern of base64. A key that passes can still be a bad one.
 */
export const isPredictableKey = (base64: string): boolean => {
  const bytes = [...Buffer.from(base64, 'base64')]
  const steps = bytes.slice(1).map((byte, index) => (byte - (bytes[index] ?? 0)) & 0xff)
  return (
    new Set(bytes).size < minDistinctBytes ||
    new Set(steps).size < minDistinctBytes ||
    new Set(base64.trim().replace(/=$/, '')).size < minDistinctCharacters ||
    bytes.every(isPrintable)
  )
}

/** The settings that production checks. Malformed ones are reported by the schema. */
const CheckedSettings = z.object({
  profile: z.unknown(),
  publicUrl: z.string().nullable().catch(null),
  mail: z.object({ from: z.string() }).catch({ from: '' }),
  database: z.object({ acceptEmbedded: z.boolean() }).catch({ acceptEmbedded: false }),
  limits: z.object({ scale: z.number() }).catch({ scale: 1 }),
  portals: z
    .record(
      z.string(),
      z
        .object({ accessCodes: z.array(z.string()).catch([]), links: z.record(z.string(), z.string()).catch({}) })
        .catch({ accessCodes: [], links: {} }),
    )
    .catch({}),
})

/** Whether a page is served without TLS, so that a reset token could be stolen. Paths are below `publicUrl`. */
const isWithoutTls = (page: string): boolean => URL.parse(page)?.protocol === 'http:'

/**
 * Whether a URL allows mail without TLS. An attacker in the middle can remove STARTTLS, so the URL must say whether to
 * continue without TLS.
 */
const leavesTlsOpen = (mailServer: string): boolean => {
  const url = URL.parse(mailServer)
  return url?.protocol === 'smtp:' && !/^(true|false)$/.test(url.searchParams.getAll('requireTLS').join())
}

/** Returns the errors that keep a production deployment from starting. Each one names its setting. */
export const productionErrors = (tree: unknown, variables: Variables): string[] => {
  const settings = CheckedSettings.parse(tree)
  if (settings.profile !== 'production') return []
  const errors: string[] = []
  for (const [name, portal] of Object.entries(settings.portals)) {
    if (portal.accessCodes.some((code) => developmentAccessCodeHashes.has(code)))
      errors.push(`portals.${name}.accessCodes: contains a development code`)
    if (portal.accessCodes.some((code) => exampleAccessCodeHashes.has(code)))
      errors.push(`portals.${name}.accessCodes: contains a code from an example`)
    for (const [link, page] of Object.entries(portal.links))
      if (isWithoutTls(page)) errors.push(`portals.${name}.links.${link}: must be https in production`)
  }
  const key = variables.PORTICO_SECRET_KEY
  if (key === undefined) errors.push('PORTICO_SECRET_KEY: must be set in production (32 bytes, base64)')
  else if (Buffer.from(key, 'base64').equals(developmentKey()))
    errors.push('PORTICO_SECRET_KEY: is the development key')
  else if (isPredictableKey(key))
    errors.push('PORTICO_SECRET_KEY: is not random; generate a key with `openssl rand -base64 32`')
  if (!variables.DATABASE_URL && !settings.database.acceptEmbedded)
    errors.push(
      'DATABASE_URL: must be set in production, or database.acceptEmbedded must be true (embedded store, one process)',
    )
  if (settings.limits.scale > 1) errors.push(`${settingName('limits.scale')}: must be at most 1 in production`)
  const { publicUrl } = settings
  if (publicUrl !== null && !isHttps(publicUrl)) errors.push('publicUrl: must be https in production')
  if (!variables.SMTP_URL) errors.push('SMTP_URL: must be set in production; codes are sent by mail')
  else if (leavesTlsOpen(variables.SMTP_URL))
    errors.push(
      'SMTP_URL: smtp:// needs ?requireTLS=true in production, or ?requireTLS=false to send codes and links without encryption',
    )
  if (settings.mail.from.includes('portico.test')) errors.push('mail.from: is the development address')
  return errors
}
