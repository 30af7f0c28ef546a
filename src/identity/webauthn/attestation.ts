import { X509Certificate } from 'node:crypto'
import { convertAAGUIDToString, decodeAttestationObject, parseAuthenticatorData } from '@simplewebauthn/server/helpers'
import { type Instant, messageOf, toInstant } from '../../kernel/index.ts'
import type { PasskeySettings } from '../settings.ts'
import { fromBase64url, invalidPasskey } from './encoding.ts'

/** A leaf and its intermediate certificates. */
const maxCertificates = 5

/**
 * Checks what the library leaves open: that the format is one of those that the portal asks for, and that the certificates
 * lead to a configured root. The library then verifies the signature. It would otherwise parse six further formats, and
 * fetch revocation lists. Throws AUTH.PASSKEY_INVALID.
 */
export function assertAttested(policy: PasskeySettings['attestation'], attestationObject: string, at: Instant): void {
  const { format, certificates, aaguid } = readAttestation(attestationObject)
  if (policy === 'none') {
    const isAnonymous = format === 'none' || (format === 'packed' && certificates.length === 0)
    if (!isAnonymous) throw invalidPasskey(`an attestation of the format ${format}, which was not asked for`)
    return
  }
  if (format !== 'packed' || certificates.length === 0) throw invalidPasskey(`no packed attestation, but ${format}`)
  if (!policy.allowList.includes(aaguid)) throw invalidPasskey(`the authenticator ${aaguid} is not in the allow list`)
  if (!leadsToRoot(certificates, policy.roots, at)) throw invalidPasskey('the attestation has no trusted root')
}

interface Attestation {
  format: string
  certificates: Uint8Array[]
  aaguid: string
}

function readAttestation(attestationObject: string): Attestation {
  try {
    const decoded = decodeAttestationObject(fromBase64url(attestationObject))
    const { aaguid } = parseAuthenticatorData(decoded.get('authData'))
    if (!aaguid) throw new Error('no attested credential data')
    const certificates = decoded.get('attStmt').get('x5c') ?? []
    return { format: decoded.get('fmt'), certificates, aaguid: convertAAGUIDToString(aaguid) }
  } catch (error) {
    throw invalidPasskey(`the attestation cannot be read: ${messageOf(error)}`, error)
  }
}

function leadsToRoot(encoded: readonly Uint8Array[], roots: readonly string[], at: Instant): boolean {
  if (encoded.length > maxCertificates) return false
  try {
    const chain = encoded.map((each) => new X509Certificate(each))
    const anchors = roots.map((pem) => new X509Certificate(pem))
    const isIssued = chain.every((each, index) => {
      const issuers = index + 1 < chain.length ? chain.slice(index + 1, index + 2) : anchors
      const isAnchor = index > 0 && anchors.some(({ fingerprint256 }) => fingerprint256 === each.fingerprint256)
      return isValidAt(each, at) && (isAnchor || issuers.some((issuer) => isIssuedBy(each, issuer, at)))
    })
    return isIssued
  } catch {
    return false
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate, at: Instant): boolean {
  return issuer.ca && isValidAt(issuer, at) && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
}

function isValidAt({ validFromDate, validToDate }: X509Certificate, at: Instant): boolean {
  return toInstant(validFromDate.getTime()) <= at && at <= toInstant(validToDate.getTime())
}
