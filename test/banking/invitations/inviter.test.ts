import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../../src/banking/invitations/index.ts'
import { leaveWorkspace } from '../../../src/banking/members/contract.ts'
import { type AccountId, bizId, type HandlerTable, type Permission, toInstant } from '../../../src/kernel/index.ts'
import { insertAuditEntry } from '../../../src/platform/audit/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  refusalOf,
  stepUpMs,
  transactionOf,
  type World,
  words,
} from '../world.ts'

let world: World
let handlers: HandlerTable
let owner: AccountId
let manager: AccountId
let guest: AccountId
let guestEmail: string
let workspace: string
let managers: string
let clerks: string
let serial = 0

beforeAll(async () => {
  world = await createWorld()
  // The database's clock decides whether an invitation has expired before it ends.
  world.clock.advance(Date.now() - world.clock.now())
  const { database } = world
  const mailer = { send: async () => undefined }
  const ports = {
    database,
    transaction: transactionOf(database),
    ids: systemIds,
    members: world.members.memberships,
    mailer,
    words,
    signInUrl: () => '',
    isRefusedEmail: () => false,
    notices: world.members.notices,
    stepUpMs,
    assertSessionOpen: alwaysOpen,
  }
  handlers = createInvitations({ ...ports, settings: accessSettings.invitations }).handlers
})
afterAll(() => world.close())
beforeEach(async () => {
  serial += 1
  guestEmail = `guest${serial}@example.test`
  owner = await world.account(`owner${serial}@example.test`)
  manager = await world.account(`manager${serial}@example.test`)
  guest = await world.account(guestEmail)
  workspace = await world.workspaceOf(owner)
  managers = await world.join(workspace, manager, ['invitation:manage', 'wallet:read'])
  clerks = await world.join(workspace, await world.account(`clerk${serial}@example.test`), ['wallet:read'])
})

async function invite(as: AccountId, roleBizId: string): Promise<string> {
  const body = { email: guestEmail, roleBizId }
  return (await world.call(handlers, contract.createInvitation, { as, workspace, body })).bizId
}
function accept(invitationBizId: string) {
  return refusalOf(world.call(handlers, contract.acceptInvitation, { as: guest, body: { invitationBizId } }))
}
async function ownerRole() {
  const { memberships } = world.members
  const membership = await world.database.transaction().execute((tx) => memberships.find(tx, owner, bizId(workspace)))
  return membership?.roleId ?? ''
}
function membership(who: AccountId) {
  return world.database
    .updateTable('memberships')
    .where('accountBizId', '=', who)
    .where('workspaceBizId', '=', bizId<'workspace'>(workspace))
}
function status(who: AccountId, accountStatus: 'ACTIVE' | 'SUSPENDED') {
  return world.database.updateTable('accounts').set({ accountStatus }).where('bizId', '=', who).execute()
}
function limit(who: AccountId, policyConfig: object | null) {
  return membership(who)
    .set({ policyConfig: policyConfig && JSON.stringify(policyConfig) })
    .execute()
}
function grant(role: string, permissionCodes: Permission[]) {
  return world.database.updateTable('roles').set({ permissionCodes }).where('bizId', '=', bizId<'role'>(role)).execute()
}

describe('invitations.accept 409 STATE.CONFLICT', () => {
  const changes: { inviter: string; apply: () => Promise<unknown>; revert: () => Promise<unknown> }[] = [
    {
      inviter: 'has been suspended',
      apply: () => status(manager, 'SUSPENDED'),
      revert: () => status(manager, 'ACTIVE'),
    },
    {
      inviter: 'cannot enter',
      apply: () => limit(manager, { enterable: false }),
      revert: () => limit(manager, null),
    },
    { inviter: 'is read-only', apply: () => limit(manager, { readOnly: true }), revert: () => limit(manager, null) },
    {
      inviter: 'can no longer invite',
      apply: () => grant(managers, ['invitation:read', 'wallet:read']),
      revert: () => grant(managers, ['invitation:manage', 'wallet:read']),
    },
    {
      inviter: 'has lost a permission of the role',
      apply: () => grant(managers, ['invitation:manage']),
      revert: () => grant(managers, ['invitation:manage', 'wallet:read']),
    },
    {
      inviter: 'lacks a permission that was added to the role',
      apply: () => grant(clerks, ['wallet:read', 'transfer:create']),
      revert: () => grant(clerks, ['wallet:read']),
    },
  ]
  test.each(changes)('the inviter $inviter: ends the invitation, also after that has changed', async (change) => {
    const invitation = await invite(manager, clerks)
    await change.apply()
    const statuses = async () => {
      const mine = await world.call(handlers, contract.listMyInvitations, { as: guest, query: {} })
      const ofWorkspace = await world.call(handlers, contract.listInvitations, { as: owner, workspace, query: {} })
      return [mine, ofWorkspace].map(([newest]) => newest?.invitationStatus.code)
    }
    expect(await statuses()).toEqual(['CANCELLED', 'CANCELLED'])
    expect(await accept(invitation)).toBe('STATE.CONFLICT')
    expect(await refusalOf(world.members.enter(callerOf(guest), workspace))).toBe('ACCESS.PERMISSION_DENIED')
    const again = await invite(owner, clerks)
    await change.revert()
    expect(await accept(invitation)).toBe('STATE.CONFLICT')
    expect(await accept(again)).toBe('none')
  })

  test('a recovery suspends the inviter: SUSPENDED, and confirmed only after the member is restored', async () => {
    const invitation = await invite(manager, clerks)
    await membership(manager).set({ suspendedAt: new Date() }).execute()
    const confirm = () =>
      refusalOf(
        world.call(handlers, contract.confirmInvitation, {
          as: owner,
          workspace,
          body: { invitationBizId: invitation },
        }),
      )
    expect(await confirm()).toBe('STATE.CONFLICT')
    await membership(manager).set({ suspendedAt: null }).execute()
    expect(await accept(invitation)).toBe('STATE.CONFLICT')
    expect(await confirm()).toBe('none')
    expect(await accept(invitation)).toBe('none')
  })

  test('another member loses a right: the invitations of others stay', async () => {
    const invitation = await invite(manager, clerks)
    await limit(owner, { readOnly: true })
    await status(owner, 'SUSPENDED')
    expect(await accept(invitation)).toBe('none')
  })

  test('the person has acted on the workspace as an operator; 200 after 72 hours', async () => {
    const [name, host] = guestEmail.split('@')
    const operator = await world.account(`${name}+work@${host}`, 'SYSTEM')
    const other = await world.workspaceOf(owner)
    const act = (workspaceId: string, hours: number, outcome: 'SUCCESS' | 'REFUSED' = 'SUCCESS') =>
      insertAuditEntry(world.database, {
        at: toInstant(Date.now() - hours * 3_600_000),
        portal: 'SYSTEM',
        actorId: operator,
        workspaceId,
        action: 'recharges.confirm',
        targetId: 'not an id',
        outcome,
        requestId: '-',
        clientIp: '-',
        detail: {},
      })
    await act(workspace, 72.01)
    await act(other, 1)
    await act(workspace, 1, 'REFUSED')
    const invitation = await invite(manager, clerks)
    expect(await accept(invitation)).toBe('none')
    await world.call(world.handlers, leaveWorkspace, { as: guest, workspace })
    await act(workspace, 71.99)
    expect(await accept(await invite(manager, clerks))).toBe('STATE.CONFLICT')
  })

  test('the inviter has left; 200 for an invitation by another owner', async () => {
    const invitation = await invite(manager, clerks)
    await world.call(world.handlers, leaveWorkspace, { as: manager, workspace })
    expect(await accept(invitation)).toBe('STATE.CONFLICT')
    expect(await accept(await invite(owner, clerks))).toBe('none')
  })

  test('OWNER role, inviter is no longer an owner', async () => {
    const invitation = await invite(owner, await ownerRole())
    const all = await world.members.enter(callerOf(owner), workspace)
    await grant(managers, [...all.permissions])
    await membership(owner)
      .set({ roleBizId: bizId<'role'>(managers) })
      .execute()
    expect(await accept(invitation)).toBe('STATE.CONFLICT')
  })
})

test('invitations.decline 409 STATE.CONFLICT: the inviter was suspended, which ended the invitation', async () => {
  const body = { invitationBizId: await invite(manager, clerks), reason: 'No' }
  await status(manager, 'SUSPENDED')
  const declined = world.call(handlers, contract.declineInvitation, { as: guest, body })
  expect(await refusalOf(declined)).toBe('STATE.CONFLICT')
})
