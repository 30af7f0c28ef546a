import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { PasskeySettings } from '../../../src/identity/settings.ts'
import { challengeOf, verifyAssertion, verifyRegistration } from '../../../src/identity/webauthn/ceremony.ts'
import { AssertionCredential, RegistrationCredential } from '../../../src/identity/webauthn/contract.ts'
import { toInstant } from '../../../src/kernel/index.ts'
import { storedPasskey } from './passkey.ts'
import spec from './vectors.json' with { type: 'json' }

const at = toInstant(Date.parse('2026-06-01T00:00:00Z'))
const root = new X509Certificate(Buffer.from(spec.attestationRoot, 'base64url')).toString()
const anonymous: PasskeySettings = {
  rpId: 'example.org',
  origins: ['https://example.org'],
  userVerification: 'required',
  attestation: 'none',
}
/** The models of the vectors with a packed attestation. */
const allowList = [
  '876ca4f5-2071-c3e9-b255-09ef2cdf7ed6',
  'e950dcda-3bda-e1d0-87cd-a380a897848b',
  '39d8ce6a-3cf6-1025-7750-83a738e5c254',
  '428f8878-298b-9862-a36a-d8c7527bfef2',
  'd5aa3358-1e8c-a478-e20f-e713f5d32ff2',
]
const attested: PasskeySettings = { ...anonymous, attestation: { allowList, roots: [root] } }

const vectors = Object.entries(spec.vectors)
type Vector = (typeof vectors)[number][1]

const accepted = 'accepted'
const unverified = /user.+verif/i
const framed = /frame/
const unasked = /not asked for/
const notPacked = /no packed attestation/

/** Portico requires that the user was verified, refuses frames, and accepts three algorithms. */
const expected: Record<
  string,
  { anonymous: RegExp | 'accepted'; attested: RegExp | 'accepted'; assertion: RegExp | 'accepted' }
> = {
  'none-es256': { anonymous: unverified, attested: notPacked, assertion: unverified },
  'packed-self-es256': { anonymous: accepted, attested: notPacked, assertion: unverified },
  'none-es256-crossOrigin': { anonymous: framed, attested: framed, assertion: framed },
  'none-es256-topOrigin': { anonymous: framed, attested: framed, assertion: framed },
  'none-es256-long-credential-id': { anonymous: unverified, attested: notPacked, assertion: accepted },
  'packed-es256': { anonymous: unasked, attested: accepted, assertion: accepted },
  'packed-es384': { anonymous: unasked, attested: unverified, assertion: accepted },
  'packed-es512': { anonymous: unasked, attested: /alg/i, assertion: unverified },
  'packed-rs256': { anonymous: unasked, attested: accepted, assertion: unverified },
  'packed-eddsa': { anonymous: unasked, attested: unverified, assertion: unverified },
  'tpm-es256': { anonymous: unasked, attested: notPacked, assertion: accepted },
  'android-key-es256': { anonymous: unasked, attested: notPacked, assertion: unverified },
  'apple-es256': { anonymous: unasked, attested: notPacked, assertion: unverified },
  'fido-u2f-es256': { anonymous: unasked, attested: notPacked, assertion: unverified },
}

const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'base64url'))
const identityOf = ({ credentialId: id }: Vector) => ({ id, rawId: id, type: 'public-key' })

function registrationOf(vector: Vector): RegistrationCredential {
  const { clientDataJSON, attestationObject } = vector.registration
  return RegistrationCredential.parse({ ...identityOf(vector), response: { clientDataJSON, attestationObject } })
}

function assertionOf(vector: Vector): AssertionCredential {
  const { clientDataJSON, authenticatorData, signature } = vector.assertion
  return AssertionCredential.parse({
    ...identityOf(vector),
    response: { clientDataJSON, authenticatorData, signature },
  })
}

/** Bit 3 of the flags: the key can be synchronized. */
function deviceTypeOf({ assertion }: Vector) {
  return ((bytes(assertion.authenticatorData)[32] ?? 0) & 8) > 0 ? 'MULTI_DEVICE' : 'SINGLE_DEVICE'
}

test('the table has every vector of the specification', () => {
  expect(Object.keys(expected)).toEqual(vectors.map(([name]) => name))
})

describe.each(vectors)('the vector %s of WebAuthn level 3', (name, vector) => {
  const outcome = expected[name] ?? expect.fail()

  test.each(['anonymous', 'attested'] as const)(
    'registration, %s: accepted with exactly its key, or refused',
    async (policy) => {
      const settings = policy === 'anonymous' ? anonymous : attested
      const result = verifyRegistration(settings, registrationOf(vector), bytes(vector.registration.challenge), at)
      if (outcome[policy] === accepted) {
        const { credentialId, publicKey, signCount } = await result
        const found = { credentialId: Buffer.from(credentialId), publicKey: Buffer.from(publicKey), signCount }
        const [id, key] = [vector.credentialId, vector.publicKey].map((text) => Buffer.from(text, 'base64url'))
        expect(found).toEqual({ credentialId: id, publicKey: key, signCount: 0 })
      } else await expectRefusal(result, outcome[policy])
    },
  )

  test('registration: refused for another challenge, rp id, origin or root', async () => {
    const settings = outcome.attested === accepted ? attested : anonymous
    const credential = registrationOf(vector)
    const challenge = bytes(vector.registration.challenge)
    const others: [PasskeySettings, Uint8Array][] = [
      [settings, challenge.map((byte) => byte ^ 1)],
      [{ ...settings, rpId: 'example.com' }, challenge],
      [{ ...settings, origins: ['https://example.com', 'https://example.org:8443'] }, challenge],
      [{ ...settings, attestation: { allowList, roots: [] } }, challenge],
      [{ ...settings, attestation: { allowList: allowList.slice(1, 3), roots: [root] } }, challenge],
    ]
    for (const [other, signed] of others) await expectRefusal(verifyRegistration(other, credential, signed, at), /./)
  })

  test('assertion: names the challenge of the vector', () => {
    expect(challengeOf(assertionOf(vector))).toEqual(bytes(vector.assertion.challenge))
  })

  test('assertion: accepted with its key, and refused with another key, rp id or origin', async () => {
    const passkey = storedPasskey({
      credentialId: bytes(vector.credentialId),
      publicKey: bytes(vector.publicKey),
      deviceType: deviceTypeOf(vector),
    })
    const verify = (settings = anonymous, stored = passkey) =>
      verifyAssertion(settings, assertionOf(vector), { issuedAt: at, passkey: stored, isDiscovered: false })
    if (outcome.assertion === accepted) expect(await verify()).toMatchObject({ signCount: 0 })
    else await expectRefusal(verify(), outcome.assertion)
    for (const [other, { publicKey }] of vectors)
      if (other !== name) await expectRefusal(verify(anonymous, { ...passkey, publicKey: bytes(publicKey) }), /./)
    await expectRefusal(verify({ ...anonymous, rpId: 'example.com' }), /./)
    await expectRefusal(verify({ ...anonymous, origins: ['https://example.com'] }), /./)
    await expectRefusal(verify(anonymous, { ...passkey, suspendedAt: at }), /./)
  })
})

async function expectRefusal(result: Promise<unknown>, reason: RegExp): Promise<void> {
  await expect(result).rejects.toMatchObject({ code: 'AUTH.PASSKEY_INVALID', message: expect.stringMatching(reason) })
}
