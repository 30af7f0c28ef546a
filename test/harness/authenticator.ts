import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type {
  AssertionCredential,
  CreationOptions,
  RegistrationCredential,
  RequestOptions,
} from '../../src/identity/webauthn/contract.ts'

/** Deviations of a ceremony. */
export interface Ceremony {
  origin?: string
  rpId?: string
  type?: string
  challenge?: string
  crossOrigin?: boolean
  userPresent?: boolean
  userVerified?: boolean
  backupEligible?: boolean
  backedUp?: boolean
  counter?: number
  userHandle?: string | null
  /** The credential that signs. Default: the newest that fits. */
  id?: string
  /** Of the attestation. */
  format?: 'none' | 'packed' | 'packed-self'
  certificates?: Uint8Array[]
  attestationKey?: KeyObject
}

interface Key {
  id: string
  privateKey: KeyObject
  rpId: string
  userHandle: string
  counter: number
}

const flagBits = { userPresent: 1, userVerified: 4, backupEligible: 8, backedUp: 16, attested: 64 }

/** An authenticator in software, as a browser shows it to a page of `origin`. Its keys are for P-256. */
export class SoftwareAuthenticator {
  readonly origin: string
  readonly aaguid: string
  /** Whether it counts signatures. Synchronized passkeys do not. */
  readonly counts: boolean
  readonly keys: Key[] = []

  constructor(origin: string, { aaguid = '0'.repeat(32), counts = true }: { aaguid?: string; counts?: boolean } = {}) {
    this.origin = origin
    this.aaguid = aaguid.replaceAll('-', '')
    this.counts = counts
  }

  /** `navigator.credentials.create`. */
  create(options: CreationOptions, how: Ceremony = {}): RegistrationCredential {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const id = randomBytes(32)
    const rpId = how.rpId ?? options.rp.id
    const key: Key = {
      id: id.toString('base64url'),
      privateKey,
      rpId: options.rp.id,
      userHandle: options.user.id,
      counter: this.counts ? 1 : 0,
    }
    this.keys.push(key)
    const clientData = this.#clientData('webauthn.create', options.challenge, how)
    const attested = Buffer.concat([Buffer.from(this.aaguid, 'hex'), uint16(id.length), id, coseOf(publicKey)])
    const authData = Buffer.concat([this.#authData(rpId, key.counter, { attested: true, ...how }), attested])
    const attestationObject = attestationOf(authData, clientData, privateKey, how)
    return {
      id: key.id,
      rawId: key.id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      },
      clientExtensionResults: {},
    }
  }

  /** `navigator.credentials.get`. */
  get(options: RequestOptions, how: Ceremony = {}): AssertionCredential {
    const allowed = options.allowCredentials.map(({ id }) => id)
    const fits = (key: Key) => key.rpId === options.rpId && (allowed.length === 0 || allowed.includes(key.id))
    const key = this.keys.findLast((each) => (how.id === undefined ? fits(each) : each.id === how.id))
    if (!key) throw new Error('NotAllowedError: no credential fits')
    if (this.counts) key.counter += 1
    const clientData = this.#clientData('webauthn.get', options.challenge, how)
    const authData = this.#authData(how.rpId ?? options.rpId, how.counter ?? key.counter, how)
    const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), key.privateKey)
    const userHandle = how.userHandle === undefined ? key.userHandle : how.userHandle
    return {
      id: key.id,
      rawId: key.id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: signature.toString('base64url'),
        ...(userHandle !== null && { userHandle }),
      },
      clientExtensionResults: {},
    }
  }

  /** A thief's copy of all keys, with their counters. */
  copy(): SoftwareAuthenticator {
    const copied = new SoftwareAuthenticator(this.origin, { aaguid: this.aaguid, counts: this.counts })
    copied.keys.push(...this.keys.map((key) => ({ ...key })))
    return copied
  }

  #clientData(type: string, challenge: string, how: Ceremony): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: how.type ?? type,
        challenge: how.challenge ?? challenge,
        origin: how.origin ?? this.origin,
        crossOrigin: how.crossOrigin ?? false,
      }),
    )
  }

  #authData(rpId: string, counter: number, how: Ceremony & { attested?: boolean }): Buffer {
    const set = { userPresent: true, userVerified: true, ...how }
    const names = ['userPresent', 'userVerified', 'backupEligible', 'backedUp', 'attested'] as const
    const flags = names.filter((name) => set[name]).reduce((sum, name) => sum + flagBits[name], 0)
    return Buffer.concat([sha256(Buffer.from(rpId)), Buffer.of(flags), uint32(counter)])
  }
}

function attestationOf(authData: Buffer, clientData: Buffer, privateKey: KeyObject, how: Ceremony): Buffer {
  const { format = 'none', certificates = [], attestationKey = privateKey } = how
  const signature = sign('sha256', Buffer.concat([authData, sha256(clientData)]), attestationKey)
  const signed: [string, Cbor][] = [
    ['alg', -7],
    ['sig', signature],
  ]
  const x5c: [string, Cbor][] = format === 'packed' ? [['x5c', certificates]] : []
  return cbor(
    new Map<string, Cbor>([
      ['fmt', format === 'none' ? 'none' : 'packed'],
      ['attStmt', new Map<string, Cbor>(format === 'none' ? [] : [...signed, ...x5c])],
      ['authData', authData],
    ]),
  )
}

/** RFC 9053, 7.1. */
function coseOf(publicKey: KeyObject): Buffer {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  return cbor(
    new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x, 'base64url')],
      [-3, Buffer.from(y, 'base64url')],
    ]),
  )
}

type Cbor = number | string | Uint8Array | readonly Cbor[] | Map<number | string, Cbor>

/** RFC 8949, as far as authenticators need it. */
export function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value])
  if (value instanceof Map)
    return Buffer.concat([head(5, value.size), ...[...value].flatMap(([key, each]) => [cbor(key), cbor(each)])])
  return Buffer.concat([head(4, value.length), ...value.map(cbor)])
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.of((major << 5) | length)
  if (length < 256) return Buffer.of((major << 5) | 24, length)
  return Buffer.concat([Buffer.of((major << 5) | 25), uint16(length)])
}

function sha256(data: Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}

function uint16(value: number): Buffer {
  return Buffer.of(value >> 8, value & 255)
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}
