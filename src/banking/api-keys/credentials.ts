import { decodeJwt } from 'jose'
import { invalid, type Randomness, type Refusal } from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import { type PublicJwk, parsePublicKey } from '../../platform/proofs/index.ts'
import type { ApiKeyCredential } from './contract.ts'

/* A caller proves that it holds a key with its secret, with a JWT that its private key has signed, or with its client certificate. */

/** Keys of a workspace, and keys of operators. */
export type KeyKind = 'ptk' | 'pok'

/**
 * The first part identifies the key and its owner kind, and is public. The second part is 32 random bytes, which only a
 * secret key has.
 */
const shape = /^((ptk|pok)_[0-9a-f]{12})(?:_([A-Za-z0-9_-]{43}))?$/
const prefixShape = /^(ptk|pok)_[0-9a-f]{12}$/

/** A compact JWS. Longer texts are not decoded. */
const assertionShape = /^[\w-]{1,512}\.[\w-]{1,2048}\.[\w-]{1,1024}$/

export type PresentedKey = { kind: KeyKind; prefix: string } & (
  | { credential: 'SECRET'; secret: string }
  | { credential: 'JWT'; assertion: string }
  | { credential: 'TLS' }
)

/** Undefined for other tokens, such as access tokens, whose issuer has another shape. Verifies nothing. */
export function parseKey(token: string): PresentedKey | undefined {
  const [, prefix, kind, secret] = shape.exec(token) ?? []
  if (prefix === undefined) return parseAssertion(token)
  const key = { kind: kindOf(kind), prefix }
  return secret === undefined ? { ...key, credential: 'TLS' } : { ...key, credential: 'SECRET', secret }
}

export function keyDigest(digest: KeyedDigest, prefix: string, secret: string): Uint8Array {
  return digest('api-key', prefix, secret)
}

/** How a stored key is proven. The database accepts no other combination of nulls. */
export interface StoredCredential {
  credential: ApiKeyCredential
  secretDigest: Uint8Array | null
  publicKey: PublicJwk | null
  /** RFC 7638 for a public key, and RFC 8705 (`x5t#S256`) for a certificate. */
  credentialThumbprint: string | null
}

export interface NewKey extends StoredCredential {
  keyPrefix: string
  keyLast4: string
}

/** Exactly one of these, or neither for a key with a secret. */
export interface RequestedCredential {
  publicKey?: PublicJwk | undefined
  certificateThumbprint?: string | undefined
}

/** Returns the secret once. It is never stored, and null for the other credentials. Throws VALIDATION.INVALID_PARAMETER. */
export function createCredential(
  kind: KeyKind,
  { publicKey, certificateThumbprint }: RequestedCredential,
  { randomness, digest }: { randomness: Randomness; digest: KeyedDigest },
): { stored: NewKey; secret: string | null } {
  const keyPrefix = `${kind}_${Buffer.from(randomness.bytes(6)).toString('hex')}`
  if (publicKey && certificateThumbprint !== undefined)
    throw invalid('certificateThumbprint', 'a key has one credential', 'conflict')
  if (publicKey) {
    const parsed = parsePublicKey(publicKey)
    if ('invalid' in parsed) throw invalidMember(parsed.invalid)
    const { jwk, thumbprint } = parsed
    return { stored: { ...without('JWT', thumbprint), keyPrefix, publicKey: jwk }, secret: null }
  }
  if (certificateThumbprint !== undefined)
    return { stored: { ...without('TLS', certificateThumbprint), keyPrefix }, secret: null }
  const random = Buffer.from(randomness.bytes(32)).toString('base64url')
  const secret = `${keyPrefix}_${random}`
  const stored = {
    keyPrefix,
    keyLast4: secret.slice(-4),
    credential: 'SECRET' as const,
    secretDigest: keyDigest(digest, keyPrefix, random),
    publicKey: null,
    credentialThumbprint: null,
  }
  return { stored, secret }
}

/** For the audit log. */
export function auditedCredential({ credential, credentialThumbprint }: StoredCredential): Record<string, string> {
  return credentialThumbprint === null ? {} : { credential, thumbprint: credentialThumbprint }
}

function without(credential: 'JWT' | 'TLS', credentialThumbprint: string) {
  return {
    credential,
    credentialThumbprint,
    keyLast4: credentialThumbprint.slice(-4),
    secretDigest: null,
    publicKey: null,
  }
}

function invalidMember({ name, reason }: { name: string; reason: string }): Refusal {
  return invalid(`publicKey.${name}`, `${reason} member of the public key`, reason)
}

function parseAssertion(token: string): PresentedKey | undefined {
  if (!assertionShape.test(token)) return undefined
  try {
    const prefix = decodeJwt(token).iss ?? ''
    const kind = prefixShape.exec(prefix)?.[1]
    return kind === undefined ? undefined : { kind: kindOf(kind), prefix, credential: 'JWT', assertion: token }
  } catch {
    return undefined
  }
}

function kindOf(text: string | undefined): KeyKind {
  return text === 'pok' ? 'pok' : 'ptk'
}
