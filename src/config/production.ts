import { hash } from 'node:crypto'
import { z } from 'zod'
import { isHttps } from './addresses.ts'
import { settingName, type Variables } from './env.ts'

/*
 * What everybody knows of a development deployment (design.md section 7), and of the examples. Production refuses each
 * of them.
 */
const sha256 = (text: string): string => hash('sha256', text)

const developmentAccessCodes = ['consumer-dev', 'system-dev']
export const developmentAccessCodeHashes: ReadonlySet<string> = new Set(developmentAccessCodes.map(sha256))

/** What config/production.example.yaml and deploy/kubernetes show, to be replaced by whoever copies them. */
const exampleAccessCodes = ['test', 'test2']
export const exampleAccessCodeHashes: ReadonlySet<string> = new Set(exampleAccessCodes.map(sha256))

/** 32 bytes, so that a newcomer needs no key; worthless as a secret. */
export const developmentKey = (): Uint8Array<ArrayBuffer> =>
  new Uint8Array(hash('sha256', 'portico development key', 'buffer'))

/*
 * A random key fails one of these checks with a probability below 1e-10. Of 32 random bytes 18 or fewer are distinct with
 * 4.6e-12, of their 31 differences with 4.8e-11, and of 42 random characters of base64 16 or fewer with 7.7e-12. All are
 * printable ASCII with 1.7e-14.
 */
const minDistinctBytes = 19
const minDistinctCharacters = 17

const isPrintable = (byte: number): boolean => byte >= 0x20 && byte < 0x7f

/**
 * Whether a key of 32 bytes in base64 was visibly not made by a random generator: repeated bytes, a counting sequence,
 * text, hexadecimal digits, or a short pattern of base64. A key that passes may still be a bad one.
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

/** The few settings that are judged here, read leniently: what is malformed is the schema's to report. */
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

/** A page that anybody on the way could change would hand them the token of a link. A path is below `publicUrl`. */
const isOpenToAll = (page: string): boolean => URL.parse(page)?.protocol === 'http:'

/** Whoever stands between takes STARTTLS out of what a server offers: whether mails go on in the clear then is for somebody to say. */
const leavesTlsOpen = (mailServer: string): boolean => {
  const url = URL.parse(mailServer)
  return url?.protocol === 'smtp:' && !/^(true|false)$/.test(url.searchParams.getAll('requireTLS').join())
}

/** What a production deployment may not start with; empty when it may. Each fault names its setting. */
export const productionErrors = (tree: unknown, variables: Variables): string[] => {
  const settings = CheckedSettings.parse(tree)
  if (settings.profile !== 'production') return []
  const faults: string[] = []
  for (const [name, portal] of Object.entries(settings.portals)) {
    if (portal.accessCodes.some((code) => developmentAccessCodeHashes.has(code)))
      faults.push(`portals.${name}.accessCodes: holds a development code`)
    if (portal.accessCodes.some((code) => exampleAccessCodeHashes.has(code)))
      faults.push(`portals.${name}.accessCodes: holds the code of an example`)
    for (const [link, page] of Object.entries(portal.links))
      if (isOpenToAll(page)) faults.push(`portals.${name}.links.${link}: must be https in production`)
  }
  const key = variables.PORTICO_SECRET_KEY
  if (key === undefined) faults.push('PORTICO_SECRET_KEY: must be set in production (32 bytes, base64)')
  else if (Buffer.from(key, 'base64').equals(developmentKey()))
    faults.push('PORTICO_SECRET_KEY: is the development key')
  else if (isPredictableKey(key))
    faults.push('PORTICO_SECRET_KEY: is not random; make a key with `openssl rand -base64 32`')
  if (!variables.DATABASE_URL && !settings.database.acceptEmbedded)
    faults.push(
      'DATABASE_URL: must be set in production, or database.acceptEmbedded must be true (embedded store, one process)',
    )
  if (settings.limits.scale > 1) faults.push(`${settingName('limits.scale')}: must be at most 1 in production`)
  const { publicUrl } = settings
  if (publicUrl !== null && !isHttps(publicUrl)) faults.push('publicUrl: must be https in production')
  if (!variables.SMTP_URL) faults.push('SMTP_URL: must be set in production; codes are sent by mail')
  else if (leavesTlsOpen(variables.SMTP_URL))
    faults.push(
      'SMTP_URL: smtp:// must say ?requireTLS=true in production, or ?requireTLS=false where mails with codes and links may go in the clear',
    )
  if (settings.mail.from.includes('portico.test')) faults.push('mail.from: is the development address')
  return faults
}
