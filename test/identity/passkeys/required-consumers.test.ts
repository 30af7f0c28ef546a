import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withhold } from '../../../src/banking/members/rules.ts'
import * as auth from '../../../src/identity/login/contract.ts'
import { createStepUpPasskeyOptions, sendStepUpCode, setupOtp, stepUp } from '../../../src/identity/mfa/contract.ts'
import { createPasskeyOptions, deletePasskey, registerPasskey } from '../../../src/identity/passkeys/contract.ts'
import * as sessions from '../../../src/identity/sessions/contract.ts'
import {
  assertAllowed,
  bizId,
  type Caller,
  type Operation,
  type Permission,
  type WorkspaceAccess,
} from '../../../src/kernel/index.ts'
import { codeOf, complete, initiate, mailedCode, send } from '../harness.ts'
import { type PasskeyWorld, type Person, passkeyWorld } from './world.ts'

const listed = ['transfer:create', 'withdrawal:create']
const workspace = bizId<'workspace'>('01990000-0000-7000-8000-00000000beef')

function operationWith(id: string, permission: Permission, changesRights = false): Operation {
  const policy = { ...setupOtp.policy, workspace: 'required', permission, changesRights } as const
  return { ...setupOtp, id, chains: ['consumer'], policy }
}
const transfer = operationWith('transfers.create', 'transfer:create')
const invite = operationWith('invitations.create', 'invitation:manage')
const assign = operationWith('roles.changeMember', 'member:manage', true)
const webhook = operationWith('webhooks.create', 'webhook:manage')
const operations: Operation[] = [transfer, invite, assign, webhook, createPasskeyOptions, deletePasskey, setupOtp]

const everything: WorkspaceAccess = {
  id: workspace,
  isOwner: true,
  permissions: new Set(['transfer:create', 'invitation:manage', 'member:manage', 'webhook:manage']),
}
const held: { accountId: string; gained: 'all' | readonly string[] }[] = []

function worldWith(
  passkey: 'none' | 'all' | string[],
  binding: 'purpose' | 'session' = 'purpose',
): Promise<PasskeyWorld> {
  return passkeyWorld(
    ({ portals, mfa }) => {
      portals.CONSUMER.mfa = { mailCodes: 'always', required: { passkey } }
      mfa.binding = binding
    },
    (ports) => {
      ports.holdPayouts = async (_tx, { accountId, gained }) => void held.push({ accountId, gained })
      ports.purposes.findOperation = (id) => operations.find((operation) => operation.id === id)
      ports.purposes.enter = async (caller) => withhold(everything, caller)
    },
  )
}

async function confirmByMail(
  world: PasskeyWorld,
  { caller, email }: Pick<Person, 'caller' | 'email'>,
  operation: Operation,
  fields: object = {},
) {
  world.at.clock.advance(60_000)
  const purpose = { operationId: operation.id, ...fields }
  await world.run(sendStepUpCode, { mfaMethod: 'EMAIL', purpose }, { caller })
  return world.run(stepUp, { mfaMethod: 'EMAIL', code: mailedCode(world.at, email), purpose }, { caller })
}

/** The gateway sets it once it has spent the step-up. */
function steppedUp(world: PasskeyWorld, by: Person): Person {
  return { ...by, caller: { ...by.caller, steppedUpAt: world.at.clock.now() } }
}

async function byPasskey(world: PasskeyWorld, by: Person): Promise<Person> {
  return { ...by, caller: await world.callerOf(await world.enter(by)) }
}

function withheldFrom({ withheldByWorkspaces }: Caller): unknown {
  return withheldByWorkspaces instanceof Set ? [...withheldByWorkspaces] : withheldByWorkspaces
}

describe('mfa.required.passkey of consumers, with permissions', () => {
  let world: PasskeyWorld
  beforeAll(async () => {
    world = await worldWith(listed)
  })
  afterAll(() => world.at.close())

  test('workspaces withhold the permissions from a session by mail, also after its refresh, and from no other', async () => {
    const person = await world.person()
    expect(withheldFrom(person.caller)).toEqual(listed)
    await world.register(person)
    expect(withheldFrom((await byPasskey(world, person)).caller)).toBeUndefined()
    const { sessionId } = await initiate(world.at, person.email)
    await send(world.at, sessionId)
    const session = await complete(world.at, sessionId, mailedCode(world.at, person.email))
    const renewed = await world.run(auth.refreshToken, { refreshToken: session.refreshToken })
    expect(withheldFrom(await world.callerOf(renewed))).toEqual(listed)
  })

  test.each(['EMAIL', 'OTP', 'BACKUP_CODE', 'PROVIDER', null] as const)(
    'workspaces withhold the permissions from a session that was started by %s',
    async (signedInBy) => {
      const person = await world.person()
      await world.register(person)
      const session = await world.enter(person)
      await world.at.ports.database
        .updateTable('sessions')
        .set({ signedInBy })
        .where('accountBizId', '=', person.id)
        .execute()
      world.at.clock.advance(2_000)
      expect(withheldFrom(await world.callerOf(session))).toEqual(listed)
    },
  )

  test('auth.loginComplete 200: a passkey after the password is enough', async () => {
    const person = await world.person()
    await world.register(person)
    const { sessionId } = await initiate(world.at, person.email)
    const passkey = person.device.get(await world.run(auth.createPasskeyRequest, { sessionId }))
    const session = await world.run(auth.completeLogin, { sessionId, mfaMethod: 'PASSKEY', passkey })
    expect(withheldFrom(await world.callerOf(session))).toBeUndefined()
  })

  test('mfa.stepUp 403: a session without a passkey cannot confirm the operation by any factor', async () => {
    const person = await world.person()
    await world.register(person)
    expect(await codeOf(confirmByMail(world, person, transfer))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await codeOf(world.confirm(person, { operationId: transfer.id }))).toBe('ACCESS.PASSKEY_REQUIRED')
  })

  test.each([transfer, invite, assign, createPasskeyOptions])(
    'mfa.stepUp 403: only a passkey confirms $id',
    async (operation) => {
      const person = await world.person()
      await world.register(person)
      const signedIn = await byPasskey(world, person)
      expect(await codeOf(confirmByMail(world, signedIn, operation))).toBe('ACCESS.PASSKEY_REQUIRED')
      expect(await world.confirm(signedIn, { operationId: operation.id })).toMatchObject({ success: true })
    },
  )

  test('mfa.stepUp 200: another factor confirms other operations', async () => {
    const person = await world.person()
    await world.register(person)
    const signedIn = await byPasskey(world, person)
    expect(await confirmByMail(world, signedIn, webhook)).toMatchObject({ success: true })
    expect(await confirmByMail(world, person, setupOtp)).toMatchObject({ success: true })
  })

  test('passkeys.register 200: the first passkey needs another factor, and holds the payouts', async () => {
    const person = await world.person()
    expect(await confirmByMail(world, person, createPasskeyOptions)).toMatchObject({ success: true })
    await world.register(steppedUp(world, person))
    const ofPerson = () => held.filter(({ accountId }) => accountId === person.id)
    expect(ofPerson()).toEqual([{ accountId: person.id, gained: listed }])
    const signedIn = await byPasskey(world, person)
    await world.confirm(signedIn, { operationId: createPasskeyOptions.id })
    await world.register(steppedUp(world, signedIn))
    expect(ofPerson()).toHaveLength(1)
  })

  test('passkeys.options 403: a thief with password and mailbox cannot add a passkey to one of the owner', async () => {
    const owner = await world.person()
    await world.register(owner)
    expect(await codeOf(confirmByMail(world, owner, createPasskeyOptions))).toBe('ACCESS.PASSKEY_REQUIRED')
  })

  test('passkeys.options, passkeys.register 403: a step-up from before the first passkey', async () => {
    const owner = await world.person()
    const thief = steppedUp(world, owner)
    const early = await world.run(createPasskeyOptions, {}, thief)
    world.at.clock.advance(1_000)
    await world.register(steppedUp(world, owner))
    expect(await codeOf(world.run(createPasskeyOptions, {}, thief))).toBe('ACCESS.PASSKEY_REQUIRED')
    const credential = owner.device.create(early)
    expect(await codeOf(world.run(registerPasskey, { credential }, thief))).toBe('ACCESS.PASSKEY_REQUIRED')
  })

  test('passkeys.delete 403: the last passkey, which another factor would replace', async () => {
    const person = await world.person()
    const { passkeyBizId } = await world.register(person)
    expect(await codeOf(confirmByMail(world, person, deletePasskey, { passkeyBizId }))).toBe('ACCESS.PASSKEY_REQUIRED')
    const signedIn = await byPasskey(world, person)
    expect(await codeOf(world.run(deletePasskey, { passkeyBizId }, signedIn))).toBe('AUTH.AUTHENTICATOR_REQUIRED')
  })

  test('mfa.stepUp 403: a suspended passkey does not count as none', async () => {
    const person = await world.person()
    await world.register(person)
    await world.at.ports.database
      .updateTable('passkeys')
      .set({ suspendedAt: new Date(world.at.clock.now()) })
      .where('accountBizId', '=', person.id)
      .execute()
    expect(await codeOf(confirmByMail(world, person, createPasskeyOptions))).toBe('ACCESS.PASSKEY_REQUIRED')
  })

  test('operators are not affected', async () => {
    const person = await world.person({ portal: 'SYSTEM', operatorPermissions: ['account:read'] })
    expect([withheldFrom(person.caller), [...person.caller.permissions]]).toEqual([undefined, ['account:read']])
  })
})

describe('mfa.required.passkey of consumers: all', () => {
  let world: PasskeyWorld
  beforeAll(async () => {
    world = await worldWith('all')
  })
  afterAll(() => world.at.close())

  test('auth.loginComplete 403: only a passkey completes the sign-in of an account that has one', async () => {
    const person = await world.person()
    expect(withheldFrom(person.caller)).toBe('all')
    expect(await codeOf(confirmByMail(world, person, setupOtp))).toBe('ACCESS.PASSKEY_REQUIRED')
    await world.register(steppedUp(world, person))
    const { sessionId, mfaMethods } = await initiate(world.at, person.email)
    expect(mfaMethods.map(({ code }) => code)).toEqual(['PASSKEY'])
    await send(world.at, sessionId)
    const byMail = complete(world.at, sessionId, mailedCode(world.at, person.email))
    expect(await codeOf(byMail)).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(withheldFrom((await byPasskey(world, person)).caller)).toBeUndefined()
    expect(held.at(-1)).toEqual({ accountId: person.id, gained: 'all' })
  })

  test('mfa.stepUpPasskeyOptions 403: a workspace command in a session without a passkey', async () => {
    const person = await world.person()
    await world.register(steppedUp(world, person))
    const request = { purpose: { operationId: transfer.id } }
    expect(await codeOf(world.run(createStepUpPasskeyOptions, request, person))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await world.run(sessions.listSessions, null, person)).not.toEqual([])
  })
})

test('mfa.required.passkey of consumers: none withholds nothing and holds nothing', async () => {
  const world = await worldWith('none')
  try {
    const before = held.length
    const person = await world.person()
    expect(withheldFrom(person.caller)).toBeUndefined()
    await world.register(person)
    expect(await confirmByMail(world, person, transfer)).toMatchObject({ success: true })
    expect(held).toHaveLength(before)
  } finally {
    await world.at.close()
  }
})

test('assertAllowed names the passkey only if a session with one would be allowed', () => {
  const weak: WorkspaceAccess = { id: workspace, isOwner: false, permissions: new Set(), withPasskey: everything }
  const check = (access: WorkspaceAccess, permission: Permission) => async () =>
    assertAllowed(access, ({ permissions }) => permissions.has(permission), 'a test')
  return Promise.all([
    expect(check(everything, 'transfer:create')()).resolves.toBeUndefined(),
    expect(check(weak, 'transfer:create')()).rejects.toMatchObject({ code: 'ACCESS.PASSKEY_REQUIRED' }),
    expect(check(weak, 'wallet:read')()).rejects.toMatchObject({ code: 'ACCESS.PERMISSION_DENIED' }),
    expect(check(everything, 'wallet:read')()).rejects.toMatchObject({ code: 'ACCESS.PERMISSION_DENIED' }),
  ])
})

test('mfa.stepUp 403 ACCESS.PASSKEY_REQUIRED: with mfa.binding session, another purpose hides nothing', async () => {
  const world = await worldWith(listed, 'session')
  const person = await world.person()
  await world.register(person)
  const weak = { ...person, caller: { ...person.caller, steppedUpAt: null } }
  expect(await codeOf(confirmByMail(world, weak, setupOtp))).toBe('ACCESS.PASSKEY_REQUIRED')
  await world.at.close()
})
