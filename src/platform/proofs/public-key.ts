import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import { type InvalidField, isRecord } from '../../kernel/index.ts'

/** A public key as a JWK: the members that RFC 7638 hashes, and `alg` if the key is for one algorithm only. */
export interface PublicJwk {
  kty: string
  crv?: string | undefined
  x?: string | undefined
  y?: string | undefined
  n?: string | undefined
  e?: string | undefined
  alg?: string | undefined
}

/** A checked public key. */
export interface PublicKey {
  jwk: PublicJwk
  key: KeyObject
  /** RFC 7638, with SHA-256. */
  thumbprint: string
  algorithms: readonly string[]
}

interface KeyType {
  kty: string
  crv?: string
  /** In the order of RFC 7638, section 3.2. */
  members: readonly (keyof PublicJwk)[]
  algorithms: readonly string[]
}

const keyTypes: readonly KeyType[] = [
  { kty: 'EC', crv: 'P-256', members: ['crv', 'kty', 'x', 'y'], algorithms: ['ES256'] },
  { kty: 'OKP', crv: 'Ed25519', members: ['crv', 'kty', 'x'], algorithms: ['EdDSA', 'Ed25519'] },
  { kty: 'RSA', members: ['e', 'kty', 'n'], algorithms: ['PS256', 'RS256'] },
]

/** Of all keys that are accepted. */
export const proofAlgorithms: readonly string[] = keyTypes.flatMap(({ algorithms }) => algorithms)

/** RFC 7518, sections 6.2.2 and 6.3.2, and 6.4.1. */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Larger RSA keys make verification slow. */
const [minRsaBits, maxRsaBits] = [2_048, 4_096]

/**
 * Checks a public key: P-256, Ed25519, or RSA with 2048 to 4096 bits. Returns the invalid member for a key that is private,
 * weak, or of another type.
 */
export function parsePublicKey(jwk: unknown): PublicKey | { invalid: InvalidField } {
  if (!isRecord(jwk)) return invalidMember('kty')
  const leaked = privateMembers.find((name) => Object.hasOwn(jwk, name))
  if (leaked !== undefined) return invalidMember(leaked, 'unknown')
  const types = keyTypes.filter(({ kty }) => kty === jwk.kty)
  if (types.length === 0) return invalidMember('kty')
  const type = types.find(({ crv }) => crv === jwk.crv)
  if (!type) return invalidMember('crv')
  const { alg } = jwk
  if (alg !== undefined && (typeof alg !== 'string' || !type.algorithms.includes(alg))) return invalidMember('alg')
  const members: Record<string, string> = {}
  for (const name of type.members) {
    const value = jwk[name]
    if (!isCanonicalBase64url(name, value)) return invalidMember(name, value === undefined ? 'missing' : 'invalid')
    members[name] = value
  }
  const key = importKey(members)
  if (!key) return invalidMember(type.kty === 'RSA' ? 'n' : 'x')
  const weak = weakMember(key)
  if (weak) return { invalid: weak }
  return {
    jwk: { kty: type.kty, ...members, ...(alg !== undefined && { alg }) },
    key,
    thumbprint: hash('sha256', JSON.stringify(members), 'base64url'),
    algorithms: alg === undefined ? type.algorithms : [alg],
  }
}

/** Two encodings of one key would have different thumbprints. */
function isCanonicalBase64url(name: string, value: unknown): value is string {
  if (typeof value !== 'string') return false
  if (name === 'kty' || name === 'crv') return true
  return value !== '' && value.length <= 1_024 && Buffer.from(value, 'base64url').toString('base64url') === value
}

/** Undefined for a point that is not on the curve. */
function importKey(members: Record<string, string>): KeyObject | undefined {
  try {
    return createPublicKey({ key: members, format: 'jwk' })
  } catch {
    return undefined
  }
}

/** A public exponent of 3, and one that an attacker has chosen, allow attacks that 65537 prevents. */
function weakMember({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): InvalidField | undefined {
  if (asymmetricKeyType !== 'rsa') return undefined
  const { modulusLength = 0, publicExponent } = asymmetricKeyDetails ?? {}
  if (modulusLength < minRsaBits) return { name: 'n', reason: 'too_small' }
  if (modulusLength > maxRsaBits) return { name: 'n', reason: 'too_big' }
  return publicExponent === 65_537n ? undefined : { name: 'e', reason: 'invalid' }
}

function invalidMember(name: string, reason = 'invalid'): { invalid: InvalidField } {
  return { invalid: { name, reason } }
}
