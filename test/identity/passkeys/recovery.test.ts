import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { areFactorsSet, areFactorsUsedSince, resetFactors } from '../../../src/identity/index.ts'
import { generateBackupCodes, sendStepUpCode, setupOtp, verifyOtp } from '../../../src/identity/mfa/contract.ts'
import {
  createPasskeyOptions,
  deletePasskey,
  listPasskeys,
  registerPasskey,
} from '../../../src/identity/passkeys/contract.ts'
import { resetPassword, undoFactors } from '../../../src/identity/passwords/contract.ts'
import { addMs } from '../../../src/kernel/index.ts'
import { SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { codeOf, runJobs } from '../harness.ts'
import { newPassword, requestResetLink, resetTokenOf } from '../recovery.ts'
import { origin, type PasskeyWorld, type Person, passkeyWorld } from './world.ts'

const day = 86_400_000
let world: PasskeyWorld
beforeAll(async () => {
  world = await passkeyWorld((settings) => {
    settings.suspicionMs = 3 * day
    settings.portals.CONSUMER.mfa.mailCodes = 'untilAuthenticator'
  })
})
afterAll(() => world.at.close())

const passkeysOf = (person: Person) => world.run(listPasskeys, null, person)
async function tokenFor(person: Person): Promise<string> {
  await requestResetLink(world.at, person.email)
  return resetTokenOf(world.at, person.email) ?? ''
}
async function reset(person: Person, factor: object = {}) {
  return world.run(resetPassword, { token: await tokenFor(person), newPassword, ...factor })
}
async function withPasskey(person: Person, how: object = {}) {
  return { mfaMethod: 'PASSKEY', passkey: person.device.get(await world.options(), how) }
}
async function undoTokenOf(person: Person): Promise<string> {
  await runJobs(world.at)
  const mail = world.at.outbox.list().find(({ to, template }) => to === person.email && template === 'factor-added')
  return /#token=([\w-]+)/.exec(mail?.text ?? '')?.[1] ?? ''
}

describe('password.reset', () => {
  test('403: an old passkey protects the account against a thief of the mailbox', async () => {
    const person = await world.person()
    await world.register(person)
    world.at.clock.advance(4 * day)
    expect(await codeOf(reset(person))).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await codeOf(reset(person, await withPasskey(person, { userVerified: false })))).toBe('AUTH.PASSKEY_INVALID')
    expect(await reset(person, await withPasskey(person))).toMatchObject({ success: true })
    expect(await passkeysOf(person)).toHaveLength(1)
    await world.enter(person)
  })

  test('200: a young passkey, which a thief may have added, does not protect and is removed', async () => {
    const person = await world.person()
    await world.register(person)
    expect(await reset(person)).toMatchObject({ success: true })
    expect(await passkeysOf(person)).toEqual([])
    expect(await codeOf(world.enter(person))).toBe('AUTH.PASSKEY_INVALID')
  })

  test('401: a request of a session that the reset has just ended adds no factor and removes none', async () => {
    const person = await world.person()
    const stranger = new SoftwareAuthenticator(origin)
    const options = await world.run(createPasskeyOptions, {}, person)
    const { passkeyBizId } = await world.register(person)
    const { secret } = await world.run(setupOtp, null, person)
    await reset(person, await withPasskey(person))
    const late = [
      () => world.run(registerPasskey, { credential: stranger.create(options) }, person),
      () => world.run(createPasskeyOptions, {}, person),
      () => world.run(deletePasskey, { passkeyBizId }, person),
      () =>
        world.run(
          verifyOtp,
          { code: generateSync({ secret, epoch: Math.floor(world.at.clock.now() / 1_000) }) },
          person,
        ),
      () => world.run(generateBackupCodes, null, person),
    ]
    for (const request of late) expect(await codeOf(request())).toBe('ACCESS.TOKEN_INVALID')
    expect(await passkeysOf(person)).toMatchObject([{ passkeyBizId }])
  })

  test('200: the owner keeps the young passkey that the reset verified, and no other', async () => {
    const person = await world.person()
    const { passkeyBizId } = await world.register(person)
    const factor = await withPasskey(person)
    await world.register(person)
    expect(await reset(person, factor)).toMatchObject({ success: true })
    expect(await passkeysOf(person)).toMatchObject([{ passkeyBizId }])
  })

  test('403: a thief who replaces an old passkey by a new one does not lift the protection', async () => {
    const person = await world.person()
    const { passkeyBizId } = await world.register(person)
    world.at.clock.advance(4 * day)
    await world.register(person)
    await world.run(deletePasskey, { passkeyBizId }, person)
    expect(await codeOf(reset(person))).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await codeOf(reset(person, await withPasskey(person)))).toBe('ACCESS.STEP_UP_REQUIRED')
  })
})

describe('password.undoFactors', () => {
  test('200: the link of the notice removes the new passkey and keeps the old one', async () => {
    const person = await world.person()
    const { passkeyBizId } = await world.register(person)
    world.at.clock.advance(4 * day)
    await world.register(person)
    const undone = await world.run(undoFactors, { token: await undoTokenOf(person) })
    expect(undone.removedFactors).toMatchObject([{ code: 'PASSKEY' }])
    expect(await passkeysOf(person)).toMatchObject([{ passkeyBizId }])
  })

  test('200: a passkey that replaced an old one stays, suspended, so that the mailbox alone does not open the account', async () => {
    const person = await world.person()
    const { passkeyBizId } = await world.register(person)
    world.at.clock.advance(4 * day)
    await world.register(person)
    await world.run(deletePasskey, { passkeyBizId }, person)
    await world.run(undoFactors, { token: await undoTokenOf(person) })
    expect(await passkeysOf(person)).toMatchObject([{ suspendedAt: expect.any(String) }])
    expect(await codeOf(world.run(sendStepUpCode, { mfaMethod: 'EMAIL' }, person))).toBe('AUTH.MFA_METHOD_NOT_ALLOWED')
    expect(await codeOf(world.enter(person))).toBe('AUTH.PASSKEY_INVALID')
  })
})

test('an operator’s reset knows, and removes, passkeys', async () => {
  const person = await world.person()
  const { database } = world.at.ports
  const since = world.at.clock.now()
  await world.register(person)
  const isSet = () => inTransaction(database, (tx) => areFactorsSet(tx, person))
  const isUsed = (from = since) => inTransaction(database, (tx) => areFactorsUsedSince(tx, person, from, 0))
  expect([await isSet(), await isUsed()]).toEqual([true, false])
  world.at.clock.advance(1_000)
  await world.enter(person)
  expect([await isUsed(), await isUsed(addMs(world.at.clock.now(), 0))]).toEqual([true, false])
  await inTransaction(database, (tx) => resetFactors(tx, person, world.at.clock.now()))
  expect([await isSet(), await passkeysOf(person)]).toEqual([false, []])
})
