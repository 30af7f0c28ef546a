import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { canonicalPurpose } from '../../../src/contract/step-up-purpose.ts'
import { createStepUpPasskeyOptions, setupOtp, stepUp } from '../../../src/identity/mfa/contract.ts'
import { deletePasskey } from '../../../src/identity/passkeys/contract.ts'
import { bizId } from '../../../src/kernel/index.ts'
import { root } from '../../harness/settings.ts'
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

  test('docs/guides/passkeys.md: anybody can verify later what was signed, with WebCrypto alone', async () => {
    const { isConfirmed } = await guideModule()
    await world.confirm(person, purpose)
    const entry = (await entries()).findLast(({ detail }) => Object(detail).operation === createTransfer.id)
    const canonical = canonicalPurpose(createTransfer, workspace, fields)
    const party = { rpId, origins: [origin] }
    expect(await isConfirmed(entry, canonical, party)).toBe(true)
    const other = canonicalPurpose(createTransfer, workspace, { ...fields, amount: '9250.00' })
    expect(await isConfirmed(entry, other, party)).toBe(false)
    expect(await isConfirmed({ ...entry, targetBizId: workspace }, canonical, party)).toBe(false)
    expect(await isConfirmed(entry, canonical, { ...party, rpId: 'evil.example' })).toBe(false)
    expect(await isConfirmed(entry, canonical, { ...party, origins: ['https://evil.example'] })).toBe(false)
    const detail = Object(entry?.detail)
    for (const part of ['nonce', 'signature', 'publicKey', 'clientDataJSON', 'authenticatorData']) {
      const changed = { ...entry, detail: { ...detail, [part]: tampered(detail[part]) } }
      expect(await isConfirmed(changed, canonical, party).catch(() => false), part).toBe(false)
    }
    expect(await registrationOf(detail.passkey)).toMatchObject({ publicKey: detail.publicKey })
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

test('mfa.stepUp 200: the guide verifies a signature of Chromium with Ed25519', async () => {
  const { isConfirmed } = await guideModule()
  const canonical =
    '{"fields":{"passkeyBizId":"01a22781-5146-7520-a6cc-490cbc0f47b0"},"operation":"passkeys.delete","workspace":null}'
  const local = { rpId: 'localhost', origins: ['http://localhost:21080'] }
  expect(await isConfirmed(ofChromium, canonical, local)).toBe(true)
  const { detail } = ofChromium
  const forged = { ...ofChromium, detail: { ...detail, signature: tampered(detail.signature) } }
  expect(await isConfirmed(forged, canonical, local)).toBe(false)
})

/** An audit entry of a step-up with the virtual authenticator of Chromium 156. */
const ofChromium = {
  portal: 'SYSTEM',
  actorBizId: '01a2277e-20cf-7478-8d6e-a401b6501eee',
  targetBizId: '01a22781-5160-7017-ada1-55dd14a274b2',
  detail: {
    nonce: 'rczuBgv0n7c6QieYk-y4fA',
    publicKey: 'pAEBAycgBiFYII3WXHI7By-6iuDDMW1lSEIazC61_WWEPFW_u7IX-SrU',
    signature: 'XMNq3FIg3NT0zVDl2qlGx3bqq8I3zzUr6WE53glPvN4BuFfEiKEmzIUSehax8TbJ9A7N6r4bZD5WFfTcx7mpAQ',
    purposeDigest: 'ab5b56d71a7879cf5bcc4500a8cb5c6eaac8843d1d89383f2b3abbb3fdc7c6e8',
    clientDataJSON:
      'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0IiwiY2hhbGxlbmdlIjoic1hnTnZYY1RfWnJkTll2U21pSTVIbWRqczVXd3FUeUpJTmZWT1VPNGJBUSIsIm9yaWdpbiI6Imh0dHA6Ly9sb2NhbGhvc3Q6MjEwODAiLCJjcm9zc09yaWdpbiI6ZmFsc2V9',
    authenticatorData: 'SZYN5YgOjGh0NBcPZHZgW4_krrmihjLHmVzzuoMdl2MFAAAAAw',
  },
}

/** The module of the guide. */
async function guideModule(): Promise<{ isConfirmed(...inputs: unknown[]): Promise<boolean> }> {
  const guide = readFileSync(join(root, 'docs/guides/passkeys.md'), 'utf8')
  const code = /```js\n\/\/ verify-step-up\.mjs\n(.*?)```/s.exec(guide)?.[1] ?? ''
  return import(`data:text/javascript,${encodeURIComponent(code)}`)
}

/** Changes a bit in the middle. */
function tampered(text: string): string {
  const bytes = Buffer.from(text, 'base64url')
  const middle = bytes.length >> 1
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  return bytes.toString('base64url')
}

async function registrationOf(passkey: string): Promise<unknown> {
  const registered = await world.at.ports.database
    .selectFrom('audit_log')
    .select('detail')
    .where('action', '=', 'passkeys.register')
    .execute()
  return registered.map(({ detail }) => Object(detail)).find((detail) => detail.passkey === passkey)
}
