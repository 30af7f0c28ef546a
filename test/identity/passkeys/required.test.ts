import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import { createPasskeyEnrollment } from '../../../src/identity/index.ts'
import * as auth from '../../../src/identity/login/contract.ts'
import { sendStepUpCode, setupOtp, stepUp } from '../../../src/identity/mfa/contract.ts'
import { createPasskeyOptions, deletePasskey, registerPasskey } from '../../../src/identity/passkeys/contract.ts'
import { addMs, type Caller, type Operation, type Permission } from '../../../src/kernel/index.ts'
import { codeOf, complete, initiate, mailedCode, send } from '../harness.ts'
import { type PasskeyWorld, type Person, passkeyWorld } from './world.ts'

const protectedPermission = 'withdrawal:approve'
const openPermission = 'account:view'
const operatorPermissions: Permission[] = [protectedPermission, openPermission]

/** An operation with a step-up and the permission. */
function operationWith(id: string, permission: Permission): Operation {
  return { ...setupOtp, id, chains: ['system'], policy: { ...setupOtp.policy, permission } }
}
const approve = operationWith('withdrawals.approve', protectedPermission)
const view = operationWith('accounts.note', openPermission)

async function worldWith(passkey: 'all' | string[], binding: 'purpose' | 'session' = 'purpose') {
  const world = await passkeyWorld((settings) => {
    settings.portals.SYSTEM.mfa.required = { passkey }
    settings.mfa = { ...settings.mfa, binding }
  })
  const operations: Operation[] = [approve, view, createPasskeyOptions, deletePasskey, setupOtp]
  world.at.ports.purposes.findOperation = (id) => operations.find((operation) => operation.id === id)
  return world
}

function tools(world: PasskeyWorld) {
  const confirmByMail = async ({ caller, email, portal }: Person, operation: Operation, fields: object = {}) => {
    world.at.clock.advance(60_000)
    const purpose = { operationId: operation.id, ...fields }
    await world.run(sendStepUpCode, { mfaMethod: 'EMAIL', purpose }, { caller, portal })
    const code = mailedCode(world.at, email)
    return world.run(stepUp, { mfaMethod: 'EMAIL', code, purpose }, { caller, portal })
  }
  const issue = (by: Person) =>
    inTransaction(world.at.ports.database, (tx) => {
      const at = world.at.clock.now()
      return createPasskeyEnrollment(world.at.ports, tx, by, { at, expiresAt: addMs(at, 60_000) })
    })
  const enroll = async (by: Person) => {
    const enrollmentToken = await issue(by)
    const options = await world.run(createPasskeyOptions, { enrollmentToken }, by)
    const registered = await world.run(registerPasskey, { credential: by.device.create(options) }, by)
    return { enrollmentToken, registered }
  }
  const byPasskey = async (by: Person): Promise<Person> => ({
    ...by,
    caller: await world.callerOf(await world.enter(by), 'SYSTEM'),
  })
  return { confirmByMail, issue, enroll, byPasskey }
}

const held = ({ permissions, withheld = new Set() }: Caller) => [[...permissions], [...withheld]]

describe('mfa.required.passkey with permissions', () => {
  let world: PasskeyWorld
  beforeAll(async () => {
    world = await worldWith([protectedPermission])
  })
  afterAll(() => world.at.close())
  const operator = () => world.person({ portal: 'SYSTEM', operatorPermissions })

  test('a session that was started by mail lacks the permissions, and one by passkey has them', async () => {
    const { enroll, byPasskey } = tools(world)
    const person = await operator()
    expect(held(person.caller)).toEqual([[openPermission], [protectedPermission]])
    await enroll(person)
    expect(held((await byPasskey(person)).caller)).toEqual([operatorPermissions, []])
  })

  test('passkeys.options 403: a phisher with password and code cannot enroll the first passkey', async () => {
    const { confirmByMail, enroll } = tools(world)
    const [person, other] = [await operator(), await operator()]
    await confirmByMail(person, createPasskeyOptions)
    const options = (enrollmentToken?: string) =>
      world.run(createPasskeyOptions, enrollmentToken === undefined ? {} : { enrollmentToken }, person)
    expect(await codeOf(options())).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await codeOf(options('A'.repeat(43)))).toBe('ACCESS.PASSKEY_REQUIRED')
    const { enrollmentToken } = await enroll(other)
    expect(await codeOf(options(enrollmentToken))).toBe('ACCESS.PASSKEY_REQUIRED')
  })

  test('passkeys.register 403: an enrollment token registers one passkey, also in parallel', async () => {
    const person = await operator()
    const { issue } = tools(world)
    const enrollmentToken = await issue(person)
    const both = [1, 2].map(async () => {
      const options = await world.run(createPasskeyOptions, { enrollmentToken }, person)
      return person.device.create(options)
    })
    const created = await Promise.all(both)
    const results = await Promise.allSettled(
      created.map((credential) => world.run(registerPasskey, { credential }, person)),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const late = await operator()
    const options = await world.run(createPasskeyOptions, { enrollmentToken: await issue(late) }, late)
    const credential = late.device.create(options)
    world.at.clock.advance(60_000)
    expect(await codeOf(world.run(registerPasskey, { credential }, late))).toBe('ACCESS.PASSKEY_REQUIRED')
  })

  test('mfa.stepUp 403: an operation with the permission, and changes of passkeys, need the passkey', async () => {
    const { confirmByMail, enroll, byPasskey } = tools(world)
    const person = await operator()
    const { registered } = await enroll(person)
    const { passkeyBizId } = registered
    const signedIn = await byPasskey(person)
    expect(await codeOf(confirmByMail(signedIn, approve))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await codeOf(confirmByMail(signedIn, createPasskeyOptions))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await codeOf(confirmByMail(signedIn, deletePasskey, { passkeyBizId }))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await confirmByMail(signedIn, view)).toMatchObject({ success: true })
    expect(await world.confirm(signedIn, { operationId: approve.id })).toMatchObject({ success: true })
    expect(await codeOf(world.run(deletePasskey, { passkeyBizId }, signedIn))).toBe('AUTH.AUTHENTICATOR_REQUIRED')
  })

  test('an operator without the permission needs no passkey', async () => {
    const { confirmByMail } = tools(world)
    const person = await world.person({ portal: 'SYSTEM', operatorPermissions: [openPermission] })
    expect(held(person.caller)).toEqual([[openPermission], []])
    await confirmByMail(person, createPasskeyOptions)
    await world.register(person)
  })
})

describe('mfa.required.passkey: all', () => {
  let world: PasskeyWorld
  beforeAll(async () => {
    world = await worldWith('all')
  })
  afterAll(() => world.at.close())

  test('auth.loginComplete 403: only a passkey completes the sign-in of an account that has one', async () => {
    const { enroll, confirmByMail } = tools(world)
    const person = await world.person({ portal: 'SYSTEM', operatorPermissions })
    expect(held(person.caller)).toEqual([[], operatorPermissions])
    expect(await codeOf(confirmByMail(person, setupOtp))).toBe('ACCESS.PASSKEY_REQUIRED')
    await enroll(person)
    const portal = { portal: 'SYSTEM' } as const
    const { sessionId, mfaMethods } = await initiate(world.at, person.email, portal)
    expect(mfaMethods.map(({ code }) => code)).toEqual(['PASSKEY'])
    await send(world.at, sessionId, portal)
    const byMail = complete(world.at, sessionId, mailedCode(world.at, person.email), portal)
    expect(await codeOf(byMail)).toBe('ACCESS.PASSKEY_REQUIRED')
    const options = await world.run(auth.createPasskeyRequest, { sessionId }, portal)
    const body = { sessionId, mfaMethod: 'PASSKEY', passkey: person.device.get(options) }
    const { accessToken } = await world.run(auth.completeLogin, body, portal)
    expect(held(await world.callerOf({ accessToken }, 'SYSTEM'))).toEqual([operatorPermissions, []])
  })
})

describe('mfa.required.passkey with mfa.binding: session', () => {
  test('mfa.stepUp 403: every step-up needs the passkey, because it allows every operation', async () => {
    const world = await worldWith([protectedPermission], 'session')
    try {
      const { enroll, byPasskey, confirmByMail } = tools(world)
      const person = await world.person({ portal: 'SYSTEM', operatorPermissions })
      await enroll(person)
      const signedIn = await byPasskey(person)
      expect(await codeOf(confirmByMail(signedIn, approve))).toBe('ACCESS.PASSKEY_REQUIRED')
      await world.run(sendStepUpCode, { mfaMethod: 'EMAIL' }, { ...signedIn, portal: 'SYSTEM' }).catch(() => undefined)
      expect(await world.confirm(signedIn, undefined)).toMatchObject({ success: true })
    } finally {
      await world.at.close()
    }
  })
})
