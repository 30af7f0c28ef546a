import { generateKeyPairSync, hash, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { AssertionCredential, RegistrationCredential } from '../../../src/identity/webauthn/contract.ts'

/** Bits of authenticator data (WebAuthn level 3, 6.1). */
export const flags = { userPresent: 1, userVerified: 4, backupEligible: 8, backedUp: 16, attested: 64, extensions: 128 }

export const algorithms = ['ES256', 'RS256', 'EdDSA'] as const
type Algorithm = (typeof algorithms)[number]

export interface SoftwareKey {
  credentialId: Uint8Array
  /** COSE. */
  publicKey: Uint8Array
  privateKey: KeyObject
  algorithm: Algorithm
}

/** The facts that the browser and the authenticator sign. */
export interface Ceremony {
  challenge: Uint8Array
  rpId: string
  origin: string
  counter?: number
  flags?: number
  userHandle?: string
  /** Members of the client data. */
  clientData?: object
  /** CBOR after the credential. Needs `flags.extensions`. */
  extensions?: Uint8Array
}

const presentAndVerified = flags.userPresent | flags.userVerified

/** A key of an authenticator in software, which signs all that a test asks for. */
export function createKey(algorithm: Algorithm = 'ES256', idBytes = 32): SoftwareKey {
  const { privateKey, publicKey } = keyPair(algorithm)
  const jwk = publicKey.export({ format: 'jwk' })
  const part = (name: 'x' | 'y' | 'n' | 'e') => Uint8Array.from(Buffer.from(String(jwk[name]), 'base64url'))
  const cose = new Map<number, number | Uint8Array>(
    algorithm === 'ES256'
      ? [
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, part('x')],
          [-3, part('y')],
        ]
      : algorithm === 'EdDSA'
        ? [
            [1, 1],
            [3, -8],
            [-1, 6],
            [-2, part('x')],
          ]
        : [
            [1, 3],
            [3, -257],
            [-1, part('n')],
            [-2, part('e')],
          ],
  )
  return { credentialId: randomBytes(idBytes), publicKey: isoCBOR.encode(cose), privateKey, algorithm }
}

export function signAssertion(key: SoftwareKey, ceremony: Ceremony): AssertionCredential {
  const clientDataJSON = clientDataOf('webauthn.get', ceremony)
  const authenticatorData = authenticatorDataOf(ceremony)
  const signed = Buffer.concat([authenticatorData, hash('sha256', clientDataJSON, 'buffer')])
  const signature = sign(key.algorithm === 'EdDSA' ? null : 'sha256', signed, key.privateKey)
  return {
    ...identityOf(key),
    response: {
      clientDataJSON: toText(clientDataJSON),
      authenticatorData: toText(authenticatorData),
      signature: toText(signature),
      ...(ceremony.userHandle !== undefined && { userHandle: ceremony.userHandle }),
    },
  }
}

/** Without an attestation. */
export function register(key: SoftwareKey, ceremony: Ceremony): RegistrationCredential {
  return registrationOf(key, ceremony, attestationOf(authenticatorDataOf(ceremony, key)))
}

export function registrationOf(
  key: SoftwareKey,
  ceremony: Ceremony,
  attestationObject: Uint8Array,
): RegistrationCredential {
  const clientDataJSON = toText(clientDataOf('webauthn.create', ceremony))
  return { ...identityOf(key), response: { clientDataJSON, attestationObject: toText(attestationObject) } }
}

export function attestationOf(authenticatorData: Uint8Array): Uint8Array {
  return isoCBOR.encode(
    new Map<string, string | Map<string, string> | Uint8Array>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, string>()],
      ['authData', authenticatorData],
    ]),
  )
}

/** With `key`, contains its credential. */
export function authenticatorDataOf(
  { rpId, counter = 0, extensions = new Uint8Array(), ...ceremony }: Ceremony,
  key?: Pick<SoftwareKey, 'credentialId' | 'publicKey'>,
): Uint8Array<ArrayBuffer> {
  const bits = ceremony.flags ?? (key ? presentAndVerified | flags.attested : presentAndVerified)
  const head = Buffer.alloc(37)
  hash('sha256', rpId, 'buffer').copy(head)
  head.writeUInt8(bits, 32)
  head.writeUInt32BE(counter, 33)
  if (!key) return Uint8Array.from(Buffer.concat([head, extensions]))
  const length = Buffer.alloc(2)
  length.writeUInt16BE(key.credentialId.length)
  return Uint8Array.from(Buffer.concat([head, Buffer.alloc(16), length, key.credentialId, key.publicKey, extensions]))
}

export function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

function keyPair(algorithm: Algorithm) {
  if (algorithm === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return algorithm === 'EdDSA' ? generateKeyPairSync('ed25519') : generateKeyPairSync('rsa', { modulusLength: 2_048 })
}

function clientDataOf(type: string, { challenge, origin, clientData = {} }: Ceremony): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge: toText(challenge), origin, crossOrigin: false, ...clientData }))
}

function identityOf({ credentialId }: SoftwareKey) {
  const id = toText(credentialId)
  return { id, rawId: id, type: 'public-key' } as const
}
