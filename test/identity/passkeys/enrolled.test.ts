import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { createPasskeyEnrollment } from '../../../src/identity/index.ts'
import { createStepUpPasskeyOptions, sendStepUpCode, stepUp } from '../../../src/identity/mfa/contract.ts'
import { createPasskeyOptions, deletePasskey, registerPasskey } from '../../../src/identity/passkeys/contract.ts'
import { addMs, type Caller, type Operation, type Permission } from '../../../src/kernel/index.ts'
import { SoftwareAuthenticator } from '../../harness/authenticator.ts'
import { codeOf, mailedCode } from '../harness.ts'
import { origin, type PasskeyWorld, type Person, passkeyWorld } from './world.ts'

/*
 * `mfa.required.passkey`, and passkeys from a time when their owner needed none. A phisher could have registered them with
 * the password and a mailed code, and have waited for the permissions.
 */

const granted: Permission[] = ['withdrawal:approve', 'account:view']
const approve: Operation = {
  ...createPasskeyOptions,
  id: 'withdrawals.approve',
  policy: { ...createPasskeyOptions.policy, permission: 'withdrawal:approve' },
}
const required = 'ACCESS.PASSKEY_REQUIRED'

let world: PasskeyWorld
beforeAll(async () => {
  world = await passkeyWorld((settings) => {
    settings.portals.SYSTEM.mfa.required = { passkey: ['withdrawal:approve'] }
    settings.mfa.binding = 'purpose'
  })
  const operations: Operation[] = [approve, createPasskeyOptions, deletePasskey]
  world.at.ports.purposes.findOperation = (id) => operations.find((operation) => operation.id === id)
})
afterAll(() => world.at.close())

const grant = ({ id }: Person, operatorPermissions: Permission[]) =>
  world.at.ports.database.updateTable('accounts').set({ operatorPermissions }).where('bizId', '=', id).execute()
const issue = (by: Person) =>
  inTransaction(world.at.ports.database, (tx) => {
    const at = world.at.clock.now()
    return createPasskeyEnrollment(world.at.ports, tx, by, { at, expiresAt: addMs(at, 60_000) })
  })
const byPasskey = async (by: Person): Promise<Person> => ({
  ...by,
  caller: await world.callerOf(await world.enter(by), 'SYSTEM'),
})
const withheldOf = ({ caller: { withheld = new Set() } }: { caller: Caller }) => [...withheld]
const enroll = async (by: Person, device = by.device) => {
  const options = await world.run(createPasskeyOptions, { enrollmentToken: await issue(by) }, by)
  return world.run(registerPasskey, { credential: device.create(options) }, by)
}
const confirmByMail = async ({ caller, email, portal }: Person, operation: Operation, fields: object = {}) => {
  world.at.clock.advance(60_000)
  const purpose = { operationId: operation.id, ...fields }
  await world.run(sendStepUpCode, { mfaMethod: 'EMAIL', purpose }, { caller, portal })
  return world.run(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(world.at, email), purpose }, { caller, portal })
}

/** An operator who registered a passkey without a token, and got the permissions later. */
async function promoted() {
  const person = await world.person({ portal: 'SYSTEM', operatorPermissions: ['account:view'] })
  const early = await world.register(person)
  await grant(person, granted)
  return { person, early }
}

test('auth.passkeyVerify 200: a passkey from before the permissions does not give them', async () => {
  const { person } = await promoted()
  const signedIn = await byPasskey(person)
  expect(withheldOf(signedIn)).toEqual(['withdrawal:approve'])
})

test('mfa.stepUp 403: an earlier passkey confirms nothing that needs one', async () => {
  const { person } = await promoted()
  const device = new SoftwareAuthenticator(origin)
  await enroll(person, device)
  const signedIn = await byPasskey({ ...person, device })
  const purpose = { operationId: approve.id }
  const confirm = async (signer: SoftwareAuthenticator) => {
    const request = await world.run(createStepUpPasskeyOptions, { purpose }, signedIn)
    const passkey = signer.get({ ...request, allowCredentials: [] })
    return world.run(stepUp, { mfaMethod: 'PASSKEY', passkey, purpose }, signedIn)
  }
  expect(await codeOf(confirm(person.device))).toBe(required)
  expect(await confirm(device)).toMatchObject({ success: true })
})

test('passkeys.options 403: an earlier passkey enrolls no further one', async () => {
  const { person } = await promoted()
  const signedIn = await byPasskey(person)
  expect(await codeOf(world.run(createPasskeyOptions, {}, signedIn))).toBe(required)
})

test('passkeys.register 403: a challenge from before the permissions registers nothing after them', async () => {
  const person = await world.person({ portal: 'SYSTEM', operatorPermissions: ['account:view'] })
  const credential = person.device.create(await world.run(createPasskeyOptions, {}, person))
  await grant(person, granted)
  expect(await codeOf(world.run(registerPasskey, { credential }, person))).toBe(required)
})

test('passkeys.register 200: with a token, the same device replaces its earlier passkey', async () => {
  const { person, early } = await promoted()
  const signedIn = await byPasskey(person)
  const options = await world.run(createPasskeyOptions, { enrollmentToken: await issue(person) }, signedIn)
  expect(options.excludeCredentials).toEqual([])
  await world.run(registerPasskey, { credential: person.device.create(options) }, signedIn)
  const enrolled = await byPasskey(person)
  expect(withheldOf(enrolled)).toEqual([])
  expect(await world.confirm(enrolled, { operationId: approve.id })).toMatchObject({ success: true })
  const { passkeyBizId } = early
  await world.confirm(enrolled, { operationId: deletePasskey.id, passkeyBizId })
  expect(await world.run(deletePasskey, { passkeyBizId }, enrolled)).toMatchObject({ success: true })
})

test('passkeys.register 200: a session of an enrolled passkey enrolls further ones, and no other session does', async () => {
  const person = await world.person({ portal: 'SYSTEM', operatorPermissions: granted })
  await enroll(person)
  expect(await codeOf(world.run(createPasskeyOptions, {}, person))).toBe(required)
  const signedIn = await byPasskey(person)
  const second = await world.register(signedIn)
  expect(withheldOf(await byPasskey(person))).toEqual([])
  expect(second).toHaveProperty('passkeyBizId')
})

test('passkeys.register 200: a token enrolls a passkey before the operator gets the permissions', async () => {
  const person = await world.person({ portal: 'SYSTEM', operatorPermissions: ['account:view'] })
  await enroll(person)
  await grant(person, granted)
  expect(withheldOf(await byPasskey(person))).toEqual([])
})

test('passkeys.delete 200: an unenrolled passkey can go, and the last enrolled one cannot', async () => {
  const { person, early } = await promoted()
  const { passkeyBizId } = early
  await confirmByMail(person, deletePasskey, { passkeyBizId })
  expect(await world.run(deletePasskey, { passkeyBizId }, person)).toMatchObject({ success: true })
  const enrolled = await enroll(person)
  const signedIn = await byPasskey(person)
  const last = world.run(deletePasskey, { passkeyBizId: enrolled.passkeyBizId }, signedIn)
  expect(await codeOf(last)).toBe('AUTH.AUTHENTICATOR_REQUIRED')
})

test('auth.passkeyOptions 200: browsers are asked for passkeys that count, if there is one', async () => {
  const { person, early } = await promoted()
  const enrolled = await enroll(person)
  const signedIn = await byPasskey(person)
  const purpose = { operationId: approve.id }
  const { allowCredentials } = await world.run(createStepUpPasskeyOptions, { purpose }, signedIn)
  expect(allowCredentials.map(({ id }) => id)).toEqual([enrolled.credentialId])
  expect(enrolled.credentialId).not.toBe(early.credentialId)
})
