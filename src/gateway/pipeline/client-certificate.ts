import { hash } from 'node:crypto'
import { type PortalConfiguration, type Portals, settingsOfPortal } from '../../config/index.ts'
import type { Portal } from '../../kernel/index.ts'
import type { Call } from './call.ts'

type Format = NonNullable<PortalConfiguration['edge']['clientCertificate']>['format']

/** Returns the certificate's SHA-256 in base64url (`x5t#S256`, RFC 8705, section 3.1), or null without a valid one. */
export type ReadClientCertificate = (request: Pick<Call, 'headers' | 'edgeTrusted'>, portal: Portal) => string | null

/**
 * The gateway does not end TLS connections, so the certificate is known from a header of the edge. From a peer that is
 * not a trusted proxy, it is ignored.
 */
export function createCertificateReader(portals: Portals): ReadClientCertificate {
  return ({ headers, edgeTrusted }, portal) => {
    const setting = settingsOfPortal(portals, portal).edge.clientCertificate
    if (!setting || !edgeTrusted || headers.isRepeated(setting.header)) return null
    const value = headers.optional(setting.header)
    return value ? (digestReaders[setting.format](value)?.toString('base64url') ?? null) : null
  }
}

const digestReaders: Record<Format, (value: string) => Buffer | undefined> = {
  sha256Hex: parseHex,
  rfc9440: (value) => digestOf(/^:([A-Za-z0-9+/]+={0,2}):$/.exec(value)?.[1]),
  pem: readPem,
  xfcc: (value) => parseHex(readForwarded(value) ?? ''),
}

function parseHex(text: string): Buffer | undefined {
  return /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : undefined
}

function digestOf(base64: string | undefined): Buffer | undefined {
  return base64 === undefined || base64 === '' ? undefined : hash('sha256', Buffer.from(base64, 'base64'), 'buffer')
}

const [pemStart, pemEnd] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']

/** One certificate, without its chain. */
function readPem(value: string): Buffer | undefined {
  const text = decodePercents(value).trim()
  if (!text.startsWith(pemStart) || !text.endsWith(pemEnd)) return undefined
  const base64 = text.slice(pemStart.length, -pemEnd.length).replaceAll(/\s/g, '')
  return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? digestOf(base64) : undefined
}

function decodePercents(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return ''
  }
}

/**
 * The hash of Envoy's X-Forwarded-Client-Cert, which must describe one certificate: with several, another proxy or the
 * client has written some. Quoted values, such as the subject, are chosen by the owner of the certificate.
 */
function readForwarded(value: string): string | undefined {
  const unquoted = value.replaceAll(/"(?:[^"\\]|\\.)*"/g, '')
  if (unquoted.includes('"') || unquoted.includes(',')) return undefined
  const hashes = unquoted.split(';').filter((pair) => /^hash=/i.test(pair))
  return hashes.length === 1 ? hashes[0]?.slice('hash='.length) : undefined
}
