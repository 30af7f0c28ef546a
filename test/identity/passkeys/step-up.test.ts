import { createHash, webcrypto } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { canonicalPurpose } from '../../../src/contract/step-up-purpose.ts'
import { createStepUpPasskeyOptions, setupOtp, stepUp } from '../../../src/identity/mfa/contract.ts'
import { deletePasskey } from '../../../src/identity/passkeys/contract.ts'
import { bizId } from '../../../src/kernel/index.ts'
import { codeOf, refusalOf, signedIn } from '../harness.ts'
import { origin, type PasskeyWorld, type Person, passkeyWorld, rpId } from './world.ts'

const operations = [setupOtp, createTransfer, deletePasskey]
const workspace = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'
const fields = {
  sourceWalletBizId: '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a11',
  targetWalletBizId: '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a12',
  amount: '250.00',
  currency: 'USD',
}
const purpose = { operationId: createTransfer.id, workspaceBizId: workspace, ...fields }

let world: PasskeyWorld
let person: Person
beforeAll(async () => {
  world = await passkeyWorld((settings) => {
    settings.mfa = { ...settings.mfa, binding: 'purpose' }
  })
  const { purposes } = world.at.ports
  purposes.findOperation = (id) => operations.find((operation) => operation.id === id)
  const permissions = new Set([createTransfer.policy.permission ?? ''])
  purposes.enter = async () => ({ id: bizId<'workspace'>(workspace), isOwner: true, permissions })
  person = await world.person()
  await world.register(person)
})
beforeEach(async () => {
  world.at.clock.advance(1_000)
  // Clears the failures of the test before.
  await world.confirm(person, { operationId: setupOtp.id })
})
afterAll(() => world.at.close())

const optionsFor = (by: Person, of: object = purpose) => world.run(createStepUpPasskeyOptions, { purpose: of }, by)
const present = (by: Person, passkey: object, of: object = purpose) =>
  world.run(stepUp, { mfaMethod: 'PASSKEY', passkey, purpose: of }, by)
const entries = () =>
  world.at.ports.database
    .selectFrom('audit_log')
    .select(['detail', 'portal', 'actorBizId', 'targetBizId'])
    .where('action', '=', stepUp.id)
    .where('actorBizId', '=', person.id)
    .where('outcome', '=', 'SUCCESS')
    .execute()

describe('a step-up with a passkey', () => {
  test('mfa.stepUp 200: confirms the command whose digest the passkey signed', async () => {
    expect(await world.confirm(person, purpose)).toMatchObject({ success: true })
    const spend = (canonical: string) =>
      world.at.identity.stepUps.spend({
        caller: person.caller,
        context: { ...person.caller, at: world.at.clock.now(), requestId: 'one', clientIp: '::1', operationId: 'x' },
        workspaceId: bizId<'workspace'>(workspace),
        purpose: canonical,
        idempotency: null,
      })
    const another = canonicalPurpose(createTransfer, workspace, { ...fields, amount: '9250.00' })
    expect(await spend(another)).toMatchObject({ reason: expect.any(String) })
    expect(await spend(canonicalPurpose(createTransfer, workspace, fields))).toHaveProperty('verifiedAt')
  })

  test('mfa.stepUp 200: anybody can verify later what was signed, with WebCrypto alone', async () => {
    await world.confirm(person, purpose)
    const entry = (await entries()).findLast(({ detail }) => Object(detail).operation === createTransfer.id)
    const detail = Object(entry?.detail)
    // 1. The digest of the purpose, from the fields that the entry shows.
    expect(detail).toMatchObject({ method: 'PASSKEY', operation: createTransfer.id, ...fields })
    const canonical = JSON.stringify({ fields: sorted(fields), operation: createTransfer.id, workspace })
    expect(sha256(canonical).toString('hex')).toBe(detail.purposeDigest)
    // 2. The challenge, from the digest.
    const confirmed = JSON.stringify({
      account: entry?.actorBizId,
      nonce: detail.nonce,
      portal: entry?.portal,
      purpose: detail.purposeDigest,
      session: entry?.targetBizId,
      type: 'portico.step-up',
    })
    const clientData = JSON.parse(Buffer.from(detail.clientDataJSON, 'base64url').toString())
    expect(clientData).toMatchObject({
      type: 'webauthn.get',
      origin,
      challenge: sha256(confirmed).toString('base64url'),
    })
    // 3. The authenticator data: the relying party, and the flags of presence and verification.
    const authenticatorData = Buffer.from(detail.authenticatorData, 'base64url')
    expect(authenticatorData.subarray(0, 32)).toEqual(sha256(rpId))
    expect((authenticatorData[32] ?? 0) & 5).toBe(5)
    // 4. The signature.
    const signed = Buffer.concat([authenticatorData, sha256(Buffer.from(detail.clientDataJSON, 'base64url'))])
    const isValid = (data: Uint8Array<ArrayBuffer>) => verifyEs256(detail.publicKey, detail.signature, data)
    expect(await isValid(Uint8Array.from(signed))).toBe(true)
    signed[40] = 1
    expect(await isValid(Uint8Array.from(signed))).toBe(false)
  })

  test('mfa.stepUp 401: another amount, payee or operation than the challenge', async () => {
    const others = [
      { ...purpose, amount: '250.01' },
      { ...purpose, targetWalletBizId: '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a13' },
      { operationId: setupOtp.id },
    ]
    for (const other of others) {
      const passkey = person.device.get(await optionsFor(person))
      const { code, detail } = await refusalOf(present(person, passkey, other))
      expect([code, detail.internal]).toEqual(['AUTH.PASSKEY_INVALID', expect.stringContaining('challenge')])
    }
  })

  test('mfa.stepUp 401: the challenge of another session, and of a sign-in', async () => {
    const other = { ...person, caller: await signedIn(world.at, person.email) }
    const passkey = person.device.get(await optionsFor(other))
    expect(await codeOf(present(person, passkey))).toBe('AUTH.PASSKEY_INVALID')
    expect(await codeOf(present(person, person.device.get(await world.options())))).toBe('AUTH.PASSKEY_INVALID')
  })

  test('mfa.stepUp 401: the passkey of another account', async () => {
    const thief = await world.person()
    await world.register(thief)
    const passkey = thief.device.get({ ...(await optionsFor(person)), allowCredentials: [] })
    expect((await refusalOf(present(person, passkey))).detail.internal).toContain('another account')
  })

  test('mfa.stepUp 401: a challenge works once, also in parallel', async () => {
    const passkey = person.device.get(await optionsFor(person))
    const results = await Promise.allSettled([present(person, passkey), present(person, passkey)])
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })

  test('mfa.stepUp 429: refused passkeys count like wrong codes', async () => {
    const owner = await world.person()
    await world.register(owner)
    const attempts = world.at.settings.login.failures.limit / 2
    const wrong = async () => present(owner, owner.device.get(await optionsFor(owner), { userVerified: false }))
    for (let count = 0; count < attempts; count++) expect(await codeOf(wrong())).toBe('AUTH.PASSKEY_INVALID')
    expect(await codeOf(wrong())).toBe('ACCESS.RATE_LIMITED')
  })

  test('mfa.stepUpPasskeyOptions 403: the account has no passkey', async () => {
    expect(await codeOf(optionsFor(await world.person()))).toBe('AUTH.MFA_METHOD_NOT_ALLOWED')
  })
})

function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}

function sorted(object: object): object {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** A COSE key of P-256 ends with x and y, each behind three bytes. The signature is DER, WebCrypto needs r and s. */
async function verifyEs256(publicKey: string, signature: string, data: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const cose = Buffer.from(publicKey, 'base64url')
  const [x, y] = [cose.subarray(-67, -35), cose.subarray(-32)].map((each) => each.toString('base64url'))
  const jwk = { kty: 'EC', crv: 'P-256', ...(x && { x }), ...(y && { y }) }
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const key = await webcrypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify'])
  return webcrypto.subtle.verify(algorithm, key, rawSignature(Buffer.from(signature, 'base64url')), data)
}

function rawSignature(der: Buffer): Uint8Array<ArrayBuffer> {
  const numbers: Buffer[] = []
  for (let at = 2; at < der.length; ) {
    const length = der[at + 1] ?? 0
    numbers.push(der.subarray(at + 2, at + 2 + length))
    at += 2 + length
  }
  const padded = numbers.map((each) => Buffer.concat([Buffer.alloc(32), each]).subarray(-32))
  return Uint8Array.from(Buffer.concat(padded))
}
