import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as invitations from '../../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../../src/banking/invitations/index.ts'
import * as roles from '../../../src/banking/roles/contract.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import { assertNoneWithheld, assertReadableEvents, memberReader } from '../../../src/contract/events/readers.ts'
import { bankingCatalogue, permissionTable, workspacePermissions } from '../../../src/contract/index.ts'
import { inTransaction } from '../../../src/database/index.ts'
import {
  type AccountId,
  bizId,
  type Caller,
  type HandlerTable,
  type Permission,
  type WorkspaceId,
} from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  refusalOf,
  transactionOf,
  type World,
  words,
} from '../world.ts'

/* Permissions that workspaces withhold from a session without a passkey, see `mfa.required.passkey`. */

let world: World
let handlers: HandlerTable
let serial = 0
let owner: AccountId
let guest: AccountId
let workspace: WorkspaceId
let owners: string

beforeAll(async () => {
  world = await createWorld()
  world.limits.payoutHoldMs = 1_000
  const { database } = world
  const { memberships, notices } = world.members
  const shared = {
    ...{ database, transaction: transactionOf(database), words, ids: systemIds },
    ...{ members: memberships, notices, assertSessionOpen: alwaysOpen },
  }
  handlers = new Map([
    ...createRoles({ ...shared, permissionTable: permissionTable.workspace, settings: accessSettings.roles }).handlers,
    ...createInvitations({
      ...{ ...shared, mailer: { send: async () => undefined }, signInUrl: () => '', isRefusedEmail: () => false },
      settings: accessSettings.invitations,
    }).handlers,
  ])
})
afterAll(() => world.close())
beforeEach(async () => {
  owner = await world.account(`owner${++serial}@example.test`)
  guest = await world.account(`guest${++serial}@example.test`)
  workspace = bizId<'workspace'>(await world.workspaceOf(owner))
  await world.join(workspace, guest, ['wallet:read'])
  const found = await world.call(handlers, roles.listRoles, { as: owner, workspace })
  owners = found.find(({ roleType }) => roleType.code === 'OWNER')?.bizId ?? ''
})

function weak(withheld: 'all' | string[], accountId = owner): Caller {
  const withheldByWorkspaces = withheld === 'all' ? withheld : new Set(withheld)
  return { ...callerOf(accountId), steppedUpAt: world.clock.now(), withheldByWorkspaces }
}
function createRole(as: Caller | AccountId, permissionCodes: string[]) {
  return world.call(handlers, roles.createRole, {
    as,
    workspace,
    body: { roleName: `Role ${++serial}`, permissionCodes },
  })
}

describe.each(workspacePermissions)('%s', (code) => {
  test('is withheld wherever a session enters, and no other permission', async () => {
    const entered = [
      await world.members.enter(weak([code]), workspace),
      await world.members.enter(weak([code]), null),
      await world.members.stay(weak([code]), workspace),
    ]
    for (const { permissions, isOwner, withPasskey } of entered) {
      expect([...permissions]).toEqual(workspacePermissions.filter((each) => each !== code))
      expect([isOwner, withPasskey?.isOwner, withPasskey?.permissions.size]).toEqual([
        ...[false, true, workspacePermissions.length],
      ])
    }
    const strong = await world.members.enter(callerOf(owner), workspace)
    expect([strong.isOwner, strong.permissions.has(code), strong.withPasskey]).toEqual([true, true, undefined])
  })

  // Without role:manage, the session does not reach the handler.
  if (code === 'role:manage') return
  test('roles.create 403 ACCESS.PASSKEY_REQUIRED: nobody grants it', async () => {
    expect(await refusalOf(createRole(weak([code]), [code]))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await refusalOf(createRole(owner, [code]))).toBe('none')
  })
})

describe('a session without a passkey', () => {
  test('has no permission with `all`', async () => {
    const { permissions, isOwner, withPasskey } = await world.members.enter(weak('all'), workspace)
    expect([permissions.size, isOwner, withPasskey?.isOwner]).toEqual([0, false, true])
  })

  test('lacks nothing but its role’s permissions if these need no passkey', async () => {
    const { permissions, withPasskey } = await world.members.enter(weak(['transfer:create'], guest), workspace)
    expect([[...permissions], [...(withPasskey?.permissions ?? [])]]).toEqual([['wallet:read'], ['wallet:read']])
  })

  test('roles.changeMember, invitations.create 403 ACCESS.PASSKEY_REQUIRED: a conspirer gets no power', async () => {
    const payers = await createRole(owner, ['transfer:create'])
    const readers = await createRole(owner, ['wallet:read'])
    const assign = (as: Caller, roleBizId: string, userBizId = guest) =>
      world.call(handlers, roles.changeMemberRole, { as, workspace, body: { userBizId, roleBizId } })
    const invite = (as: Caller, roleBizId: string) =>
      world.call(handlers, invitations.createInvitation, {
        ...{ as, workspace },
        body: { email: `guest${++serial}@example.test`, roleBizId },
      })
    const thief = weak(['transfer:create'])
    for (const role of [payers.bizId, owners]) {
      expect(await refusalOf(assign(thief, role))).toBe('ACCESS.PASSKEY_REQUIRED')
      expect(await refusalOf(invite(thief, role))).toBe('ACCESS.PASSKEY_REQUIRED')
    }
    const widen = (permissionCodes: string[]) =>
      world.call(handlers, roles.setRolePermissions, {
        ...{ as: thief, workspace },
        body: { roleBizId: readers.bizId, permissionCodes },
      })
    expect(await refusalOf(widen(['wallet:read', 'transfer:create']))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await refusalOf(widen(['wallet:read', 'transfer:read']))).toBe('none')
    expect(await refusalOf(assign(thief, readers.bizId))).toBe('none')
    expect(await refusalOf(invite(thief, readers.bizId))).toBe('none')
    // A member who is not an owner does not become one by a passkey.
    await assign(
      { ...callerOf(owner), steppedUpAt: world.clock.now() },
      (await createRole(owner, ['member:manage'])).bizId,
    )
    expect(await refusalOf(assign(weak(['transfer:create'], guest), owners))).toBe('ACCESS.PERMISSION_DENIED')
  })

  test('roles.changeMember, removeMember 403 ACCESS.PASSKEY_REQUIRED: it does not act as an owner', async () => {
    const second = await world.account(`second${++serial}@example.test`)
    await world.join(workspace, second, ['wallet:read'])
    const as = { ...callerOf(owner), steppedUpAt: world.clock.now() }
    await world.call(handlers, roles.changeMemberRole, {
      as,
      workspace,
      body: { userBizId: second, roleBizId: owners },
    })
    const remove = (by: Caller) =>
      world.call(handlers, roles.removeMember, { as: by, workspace, body: { userBizId: second } })
    expect(await refusalOf(remove(weak(['transfer:create'])))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await refusalOf(remove(as))).toBe('none')
  })

  test('events, webhooks 403 ACCESS.PASSKEY_REQUIRED: it does not read the events of a withheld permission', async () => {
    const { events } = bankingCatalogue
    const reader = memberReader(await world.members.enter(weak(['role:read']), workspace))
    const read = async (types: string[]) => assertReadableEvents(events, types, reader, String)
    const all = async (as: Caller) => assertNoneWithheld(events, memberReader(await world.members.enter(as, workspace)))
    expect(await refusalOf(read(['role.created']))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await refusalOf(read(['api_key.active']))).toBe('none')
    expect(await refusalOf(all(weak(['role:read'])))).toBe('ACCESS.PASSKEY_REQUIRED')
    expect(await refusalOf(all(callerOf(owner)))).toBe('none')
    expect(await refusalOf(all(weak(['role:read'], guest)))).toBe('none')
  })
})

describe('the hold after a first passkey', () => {
  const isHeld = (permission: Permission, workspaceId = workspace) =>
    refusalOf(
      world.members.memberships.assertNotHeld(
        ...([world.database, { accountId: owner, workspaceId }, [permission], world.clock.now()] as const),
      ),
    )
  const hold = (gained: 'all' | string[]) =>
    inTransaction(world.database, (tx) =>
      world.members.memberships.holdPayouts(tx, { accountId: owner, gained, at: world.clock.now() }),
    )

  test('403 ACCESS.PAYOUT_HOLD: the listed payouts, in every workspace of the account, for a time', async () => {
    const other = bizId<'workspace'>(await world.workspaceOf(owner))
    await hold(['transfer:create', 'wallet:read'])
    expect(await isHeld('transfer:create')).toBe('ACCESS.PAYOUT_HOLD')
    expect(await isHeld('transfer:create', other)).toBe('ACCESS.PAYOUT_HOLD')
    expect(await isHeld('withdrawal:create')).toBe('none')
    expect(await refusalOf(createRole(owner, ['transfer:create']))).toBe('ACCESS.PAYOUT_HOLD')
    world.clock.advance(1_000)
    expect(await isHeld('transfer:create')).toBe('none')
  })

  test.each(permissionTable.workspace.filter(({ isPayout }) => isPayout))(
    '403 ACCESS.PAYOUT_HOLD: $code with `all`',
    async ({ code }) => {
      await hold('all')
      expect(await isHeld(code)).toBe('ACCESS.PAYOUT_HOLD')
    },
  )
})
