import { randomBytes, randomInt } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PasskeySettings } from '../../../src/identity/settings.ts'
import { verifyAssertion, verifyRegistration } from '../../../src/identity/webauthn/ceremony.ts'
import { type AssertionCredential, RegistrationCredential } from '../../../src/identity/webauthn/contract.ts'
import type { Passkey } from '../../../src/identity/webauthn/store.ts'
import { Refusal, toInstant } from '../../../src/kernel/index.ts'
import {
  algorithms,
  attestationOf,
  authenticatorDataOf,
  type Ceremony,
  createKey,
  flags,
  register,
  registrationOf,
  type SoftwareKey,
  signAssertion,
  toText,
} from './authenticator.ts'
import { storedPasskey } from './passkey.ts'

const seed = randomInt(2 ** 31)
const named = `(seed ${seed})`

const settings: PasskeySettings = {
  rpId: 'portal.example',
  origins: ['https://portal.example'],
  userVerification: 'required',
  attestation: 'none',
}
const challenge = Uint8Array.from(randomBytes(32))
const ceremony: Ceremony = { challenge, rpId: settings.rpId, origin: 'https://portal.example' }
const at = toInstant(Date.parse('2026-06-01T00:00:00Z'))
const { userPresent, userVerified, backupEligible, backedUp, attested, extensions } = flags
const verified = userPresent | userVerified
const accountHandle = toText(Buffer.from('01933b6e7c1a7e0a8f3500000000000a', 'hex'))

const storedOf = (key: SoftwareKey, facts: Partial<Passkey> = {}) => storedPasskey({ ...key, ...facts })

function assert(credential: AssertionCredential, passkey: Passkey, isDiscovered = false) {
  return verifyAssertion(settings, credential, { issuedAt: at, passkey, isDiscovered })
}

const registerWith = (credential: RegistrationCredential) => verifyRegistration(settings, credential, challenge, at)

/** Anything but a refusal would become a 500. */
async function outcomeOf(result: Promise<unknown>): Promise<'accepted' | 'AUTH.PASSKEY_INVALID'> {
  try {
    await result
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.PASSKEY_INVALID') return error.code
    throw error
  }
}

const refused = 'AUTH.PASSKEY_INVALID'

function withBit(text: string, bit: number): string {
  const bytes = Buffer.from(text, 'base64url')
  const byte = Math.floor(bit / 8) % bytes.length
  bytes.writeUInt8(bytes.readUInt8(byte) ^ (1 << (bit % 8)), byte)
  return toText(bytes)
}

describe.each(algorithms)('an assertion with %s', (algorithm) => {
  const key = createKey(algorithm)
  const passkey = storedOf(key)
  const credential = signAssertion(key, ceremony)

  test('is accepted as it is', async () => {
    expect(await assert(credential, passkey)).toMatchObject({ signCount: 0 })
  })

  test.each(['authenticatorData', 'clientDataJSON', 'signature'] as const)(
    'any other bit of %s is refused',
    async (member) => {
      const original = credential.response[member]
      const bits = Buffer.from(original, 'base64url').length * 8
      const outcomes = new Map<string, number[]>()
      for (let bit = 0; bit < bits; bit++) {
        const response = { ...credential.response, [member]: withBit(original, bit) }
        const outcome = await outcomeOf(assert({ ...credential, response }, passkey))
        outcomes.set(outcome, [...(outcomes.get(outcome) ?? []), bit])
      }
      expect([...outcomes.keys()]).toEqual([refused])
    },
  )

  test(`any replaced, removed or added bytes are refused ${named}`, async () => {
    const member = fc.constantFrom('authenticatorData' as const, 'clientDataJSON' as const, 'signature' as const)
    const cut = fc.record({ member, from: fc.nat(), remove: fc.nat({ max: 8 }), add: fc.uint8Array({ maxLength: 64 }) })
    await fc.assert(
      fc.asyncProperty(cut, async ({ member: changed, from, remove, add }) => {
        const original = Buffer.from(credential.response[changed], 'base64url')
        const place = from % (original.length + 1)
        const bytes = Buffer.concat([original.subarray(0, place), add, original.subarray(place + remove)])
        fc.pre(!bytes.equals(original))
        const response = { ...credential.response, [changed]: toText(bytes) }
        expect(await outcomeOf(assert({ ...credential, response }, passkey))).toBe(refused)
      }),
      { seed, numRuns: 300 },
    )
  })
})

describe('signed, but not as Portico asks for it', () => {
  const key = createKey()
  const signed = (more: Partial<Ceremony>) => signAssertion(key, { ...ceremony, ...more })
  const map = isoCBOR.encode(new Map([['credProtect', 2]]))

  test.each<[string, Partial<Ceremony>, Partial<Passkey>?]>([
    ['the user was not verified', { flags: userPresent }],
    ['the user was not present', { flags: userVerified }],
    ['backed up, but not eligible for a backup', { flags: verified | backedUp }],
    ['another backup eligibility than at the registration', { flags: verified | backupEligible }],
    ['announced credential data is missing', { flags: verified | attested }],
    ['announced extension data is missing', { flags: verified | extensions }],
    ['extension data is not announced', { extensions: map }],
    ['extension data is not CBOR', { flags: verified | extensions, extensions: Uint8Array.of(0xff) }],
    ['bytes after the extension data', { flags: verified | extensions, extensions: Uint8Array.of(...map, 0) }],
    ['a frame of another origin', { clientData: { crossOrigin: true } }],
    ['a frame of another origin, as text', { clientData: { crossOrigin: 'true' } }],
    ['the page around the frame', { clientData: { crossOrigin: true, topOrigin: 'https://evil.example' } }],
    ['a page around it without a frame', { clientData: { topOrigin: 'https://evil.example' } }],
    ['the type of a registration', { clientData: { type: 'webauthn.create' } }],
    ['the type of a payment', { clientData: { type: 'payment.get' } }],
    ['no type', { clientData: { type: undefined } }],
    ['no origin', { clientData: { origin: undefined } }],
    ['a list of origins', { clientData: { origin: ['https://portal.example'] } }],
    ['an origin in upper case', { origin: 'https://PORTAL.example' }],
    ['an origin with a port', { origin: 'https://portal.example:8443' }],
    ['an origin that ends like the right one', { origin: 'https://evil-portal.example' }],
    ['http', { origin: 'http://portal.example' }],
    ['another rp id', { rpId: 'example' }],
    ['no challenge', { clientData: { challenge: undefined } }],
    ['a challenge that is not a text', { clientData: { challenge: { length: 43 } } }],
    ['the counter went back', { counter: 4 }, { signCount: 5 }],
    ['the counter stands still', { counter: 5 }, { signCount: 5 }],
    ['the counter went back to zero', { counter: 0 }, { signCount: 5 }],
    ['the counter stands still at its end', { counter: 2 ** 32 - 1 }, { signCount: 2 ** 32 - 1 }],
    ['the handle of another account', { userHandle: toText(randomBytes(16)) }],
  ])('%s: refused', async (_, more, facts) => {
    expect(await outcomeOf(assert(signed(more), storedOf(key, facts)))).toBe(refused)
  })

  test.each<[string, Partial<Ceremony>, Partial<Passkey>?]>([
    ['extension data that is announced', { flags: verified | extensions, extensions: map }],
    ['unknown members of the client data', { clientData: { future: [1, { two: 2 }] } }],
    ['the highest counter', { counter: 2 ** 32 - 1 }, { signCount: 2 ** 32 - 2 }],
    ['a synchronized passkey, without a counter', { flags: verified | backupEligible }, { deviceType: 'MULTI_DEVICE' }],
    ['the handle of the account', { userHandle: accountHandle }],
  ])('%s: accepted', async (_, more, facts) => {
    expect(await outcomeOf(assert(signed(more), storedOf(key, facts)))).toBe('accepted')
  })

  test('a discovered passkey without a handle is refused, and with its handle accepted', async () => {
    expect(await outcomeOf(assert(signed({}), storedOf(key), true))).toBe(refused)
    expect(await outcomeOf(assert(signed({ userHandle: accountHandle }), storedOf(key), true))).toBe('accepted')
  })

  test('a signature of the key that takes the place of unknown ones is refused', async () => {
    const credential = signed({})
    const unknown = { issuedAt: at, passkey: undefined, isDiscovered: false }
    expect(await outcomeOf(verifyAssertion(settings, credential, unknown))).toBe(refused)
    const spent = { issuedAt: undefined, passkey: storedOf(key), isDiscovered: false }
    expect(await outcomeOf(verifyAssertion(settings, credential, spent))).toBe(refused)
  })
})

describe('a registration', () => {
  const key = createKey()
  const data = authenticatorDataOf(ceremony, key)
  const whole = attestationOf(data)
  const outcome = (attestation: Uint8Array) => outcomeOf(registerWith(registrationOf(key, ceremony, attestation)))

  test.each(algorithms)('with %s: accepted with exactly its key', async (algorithm) => {
    const own = createKey(algorithm)
    const { credentialId, publicKey } = await registerWith(register(own, ceremony))
    expect([toText(credentialId), toText(publicKey)]).toEqual([toText(own.credentialId), toText(own.publicKey)])
  })

  test('cut off anywhere: refused', async () => {
    const outcomes = new Set<string>()
    for (let length = 0; length < whole.length; length++) outcomes.add(await outcome(whole.subarray(0, length)))
    for (let length = 0; length < data.length; length++)
      outcomes.add(await outcome(attestationOf(data.subarray(0, length))))
    expect([...outcomes]).toEqual([refused])
  })

  const head = (major: number, size: number) => Uint8Array.of((major << 5) | 27, 0, 0, 0, 0, ...sizeOf(size))
  const text = (value: string) => isoCBOR.encode(value)
  const join = (...parts: Uint8Array[]) => Uint8Array.from(Buffer.concat(parts))
  const member = (name: string, value: Uint8Array) => join(text(name), value)
  const keyed = (publicKey: Uint8Array) => attestationOf(authenticatorDataOf(ceremony, { ...key, publicKey }))
  const rsa = createKey('RS256')
  const [fmt, statement, content] = [
    member('fmt', text('none')),
    member('attStmt', Uint8Array.of(0xa0)),
    member('authData', isoCBOR.encode(data)),
  ]

  test.each<[string, Uint8Array]>([
    ['a map that claims four billion members', join(head(5, 2 ** 32 - 1), fmt, statement, content)],
    ['a text that claims four gigabytes', join(Uint8Array.of(0xa3), text('fmt'), head(3, 2 ** 32 - 1), statement)],
    [
      'bytes that claim four gigabytes',
      join(Uint8Array.of(0xa3), fmt, statement, text('authData'), head(2, 2 ** 32 - 1)),
    ],
    ['a list that claims four billion items', head(4, 2 ** 32 - 1)],
    ['lists in lists, 40,000 deep', new Uint8Array(40_000).fill(0x81)],
    ['maps in maps, 40,000 deep', new Uint8Array(40_000).fill(0xa1)],
    ['tags on tags, 40,000 deep', new Uint8Array(40_000).fill(0xc1)],
    ['an indefinite length', join(Uint8Array.of(0xbf), fmt, statement, content, Uint8Array.of(0xff))],
    ['a list in place of the map', isoCBOR.encode(['none', data])],
    ['a number', isoCBOR.encode(1)],
    ['null', Uint8Array.of(0xf6)],
    ['no statement', join(Uint8Array.of(0xa2), fmt, content)],
    ['no authenticator data', join(Uint8Array.of(0xa2), fmt, statement)],
    [
      'text in place of the authenticator data',
      join(Uint8Array.of(0xa3), fmt, statement, member('authData', text('x'))),
    ],
    ['no format', join(Uint8Array.of(0xa2), statement, content)],
    ['an unknown format', join(Uint8Array.of(0xa3), member('fmt', text('future')), statement, content)],
    ['a format that is a number', join(Uint8Array.of(0xa3), member('fmt', isoCBOR.encode(1)), statement, content)],
    ['the name of a built-in', join(Uint8Array.of(0xa3), member('fmt', text('__proto__')), statement, content)],
    [
      'a statement for the format none',
      join(Uint8Array.of(0xa3), fmt, member('attStmt', isoCBOR.encode(new Map([['alg', -7]]))), content),
    ],
    ['a duplicate key', join(Uint8Array.of(0xa4), fmt, fmt, statement, content)],
    ['bytes after the authenticator data', attestationOf(join(data, Uint8Array.of(0)))],
    ['an empty key', keyed(Uint8Array.of(0xa0))],
    ['a key that is a text', keyed(text('key'))],
    ['a key with a duplicate label', keyed(duplicateLabel(key.publicKey))],
    ['a key that is not on its curve', keyed(labelled(key.publicKey, -2, new Uint8Array(32)))],
    ['a key on another curve', keyed(labelled(key.publicKey, -1, 2))],
    ['a key of another type than its algorithm', keyed(labelled(key.publicKey, 3, -257))],
    ['an RSA key of 1,024 bits', keyed(labelled(rsa.publicKey, -1, randomBytes(128)))],
    ['an RSA key with the exponent 1', keyed(labelled(rsa.publicKey, -2, Uint8Array.of(1)))],
    ['a key for another algorithm', keyed(labelled(key.publicKey, 3, -65_535))],
    ['a key without an algorithm', keyed(labelled(key.publicKey, 3, undefined))],
    ['another credential id than its name', attestationOf(authenticatorDataOf(ceremony, createKey()))],
    [
      'an empty credential id',
      attestationOf(authenticatorDataOf(ceremony, { ...key, credentialId: new Uint8Array() })),
    ],
  ])('%s: refused', async (_, attestation) => {
    expect(await outcome(attestation)).toBe(refused)
  })

  test.each<[string, Partial<Ceremony>]>([
    ['the user was not verified', { flags: userPresent | attested }],
    ['the user was not present', { flags: userVerified | attested }],
    ['backed up, but not eligible for a backup', { flags: verified | attested | backedUp }],
    ['announced extension data is missing', { flags: verified | attested | extensions }],
    ['a frame of another origin', { clientData: { crossOrigin: true } }],
    ['a page around it without a frame', { clientData: { topOrigin: 'https://evil.example' } }],
    ['the type of an assertion', { clientData: { type: 'webauthn.get' } }],
  ])('%s: refused', async (_, more) => {
    expect(await outcomeOf(registerWith(register(key, { ...ceremony, ...more })))).toBe(refused)
  })

  test('a credential id of the maximum length is accepted, and one byte more refused', async () => {
    const [longest, longer] = [
      register(createKey('ES256', 1_023), ceremony),
      register(createKey('ES256', 1_024), ceremony),
    ]
    expect(await outcomeOf(registerWith(longest))).toBe('accepted')
    expect([longest, longer].map((each) => RegistrationCredential.safeParse(each).success)).toEqual([true, false])
  })

  test('bytes after the attestation are ignored, since nothing signs it', async () => {
    const { publicKey } = await registerWith(registrationOf(key, ceremony, join(whole, Uint8Array.of(0))))
    expect(toText(publicKey)).toBe(toText(key.publicKey))
  })

  test(`any bytes are accepted or refused, and never throw anything else ${named}`, async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 40 })).map(([from, add]) => {
        const place = from % whole.length
        return join(whole.subarray(0, place), add, whole.subarray(place + add.length))
      }),
    )
    await fc.assert(
      fc.asyncProperty(bytes, async (attestation) => {
        expect(['accepted', refused]).toContain(await outcome(attestation))
      }),
      { seed, numRuns: 1_000 },
    )
  })
})

function sizeOf(value: number): Uint8Array {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** The map of the key with its first member twice. */
function duplicateLabel(publicKey: Uint8Array): Uint8Array {
  return Uint8Array.from([publicKey[0] === 0xa5 ? 0xa6 : expect.fail(), 1, 2, ...publicKey.subarray(1)])
}

/** The map of the key with another member, or without it. */
function labelled(publicKey: Uint8Array, label: number, value: number | Uint8Array | undefined): Uint8Array {
  const decoded: unknown = isoCBOR.decodeFirst(Uint8Array.from(publicKey))
  if (!(decoded instanceof Map)) throw new TypeError('no COSE key')
  const key = new Map<number, number | Uint8Array>(decoded)
  if (value === undefined) key.delete(label)
  else key.set(label, value)
  return isoCBOR.encode(key)
}
