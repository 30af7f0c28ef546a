import { createPublicKey } from 'node:crypto'
import { COSEALG, cose, decodeCredentialPublicKey } from '@simplewebauthn/server/helpers'
import { invalidPasskey, toBase64url } from './encoding.ts'

/* Keys and signatures that the library accepts, although no authenticator sends them. */

const minModulusBits = 2_048
const minExponent = 65_537n
/** Of a coordinate of P-256, and of a key of Ed25519. */
const keyBytes = 32

/**
 * Throws AUTH.PASSKEY_INVALID for a key that is cut off, not on its curve, or weak. The library reads a key only when it
 * verifies a signature, so that the account would have a passkey that cannot be used.
 */
export function assertUsableKey(publicKey: Uint8Array): void {
  const jwk = jwkOf(publicKey)
  try {
    const { asymmetricKeyDetails: { modulusLength = 0, publicExponent = 0n } = {} } = createPublicKey({
      key: jwk,
      format: 'jwk',
    })
    if (jwk.kty !== 'RSA' || (modulusLength >= minModulusBits && publicExponent >= minExponent)) return
  } catch (cause) {
    throw invalidPasskey('the public key is not valid', cause)
  }
  throw invalidPasskey('the RSA key is too weak')
}

/** Throws AUTH.PASSKEY_INVALID. The library also accepts other encodings of the same signature. */
export function assertStrictSignature(publicKey: Uint8Array, signature: Uint8Array): void {
  const key = decodeCredentialPublicKey(Uint8Array.from(publicKey))
  if (cose.isCOSEPublicKeyEC2(key) && !isDer(signature)) throw invalidPasskey('the signature is not DER')
}

type Jwk =
  | { kty: 'EC'; crv: string; x: string; y: string }
  | { kty: 'OKP'; crv: string; x: string }
  | { kty: 'RSA'; n: string; e: string }

function jwkOf(publicKey: Uint8Array): Jwk {
  const key = decodeCredentialPublicKey(Uint8Array.from(publicKey))
  const alg = key.get(cose.COSEKEYS.alg)
  if (cose.isCOSEPublicKeyEC2(key) && alg === COSEALG.ES256 && key.get(cose.COSEKEYS.crv) === cose.COSECRV.P256) {
    const [x, y] = [key.get(cose.COSEKEYS.x), key.get(cose.COSEKEYS.y)]
    if (x?.length === keyBytes && y?.length === keyBytes)
      return { kty: 'EC', crv: 'P-256', x: toBase64url(x), y: toBase64url(y) }
  } else if (
    cose.isCOSEPublicKeyOKP(key) &&
    alg === COSEALG.EdDSA &&
    key.get(cose.COSEKEYS.crv) === cose.COSECRV.ED25519
  ) {
    const x = key.get(cose.COSEKEYS.x)
    if (x?.length === keyBytes) return { kty: 'OKP', crv: 'Ed25519', x: toBase64url(x) }
  } else if (cose.isCOSEPublicKeyRSA(key) && alg === COSEALG.RS256) {
    const [n, e] = [key.get(cose.COSEKEYS.n), key.get(cose.COSEKEYS.e)]
    if (n && e) return { kty: 'RSA', n: toBase64url(n), e: toBase64url(e) }
  }
  throw invalidPasskey('the public key has another type, curve or length than its algorithm')
}

/** `Ecdsa-Sig-Value` (RFC 3279, 2.2.3) of two positive integers, in the only encoding that DER allows. */
function isDer(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0x30 || bytes[1] !== bytes.length - 2) return false
  const end = endOfInteger(bytes, 2)
  return end !== undefined && endOfInteger(bytes, end) === bytes.length
}

function endOfInteger(bytes: Uint8Array, at: number): number | undefined {
  const [tag, length = 0, first = 0x80, second = 0] = bytes.subarray(at)
  const isPositive = first < 0x80
  const isMinimal = first !== 0 || (length > 1 && second >= 0x80)
  return tag === 0x02 && length > 0 && isPositive && isMinimal ? at + 2 + length : undefined
}
