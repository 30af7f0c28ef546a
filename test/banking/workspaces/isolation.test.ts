import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as apiKeyContract from '../../../src/banking/api-keys/contract.ts'
import { type ApiKeys, createApiKeys } from '../../../src/banking/api-keys/index.ts'
import * as invitationContract from '../../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../../src/banking/invitations/index.ts'
import * as memberContract from '../../../src/banking/members/contract.ts'
import { limitMember } from '../../../src/banking/members/contract.ts'
import * as accountContract from '../../../src/banking/operators/contract.ts'
import { createOperators } from '../../../src/banking/operators/index.ts'
import { updateProfile } from '../../../src/banking/profile/contract.ts'
import { createProfile } from '../../../src/banking/profile/index.ts'
import * as roleContract from '../../../src/banking/roles/contract.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import * as contract from '../../../src/banking/workspaces/contract.ts'
import { freezeWorkspace, unfreezeWorkspace } from '../../../src/banking/workspaces/contract.ts'
import { freezeOwnWorkspace } from '../../../src/banking/workspaces/index.ts'
import { apiKeyPermissions, permissionTable } from '../../../src/contract/index.ts'
import { endSessions } from '../../../src/identity/index.ts'
import { type AccountId, days, type HandlerTable, type Operation, toDate } from '../../../src/kernel/index.ts'
import { createLedger } from '../../../src/ledger/ledger.ts'
import { createKeyedDigest } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { rowsOf } from '../../harness/rows.ts'
import {
  accessSettings,
  alwaysOpen,
  type CallInput,
  callerOf,
  createWorld,
  portals,
  refusalOf,
  transactionOf,
  types,
  type World,
  words,
} from '../world.ts'

/** A second workspace has the same people and one row of each kind. Add new kinds to `populate`. */
describe('isolation: an operation changes no rows of other workspaces, accounts or resources', () => {
  let world: World
  let handlers: HandlerTable
  let keys: ApiKeys
  let others: ReadonlySet<string>
  let owner: AccountId
  let operator: AccountId
  let workspace: string
  let serial = 0
  let theirs: Awaited<ReturnType<typeof populate>>

  const person = async () => {
    const email = `person${++serial}@example.test`
    return { id: await world.account(email), email }
  }
  const call = <O extends Operation>(operation: O, input: Partial<CallInput> = {}) =>
    world.call(handlers, operation, { as: owner, workspace, ...input })
  const operate = <O extends Operation>(operation: O, params: Record<string, string>, body: object = {}) =>
    world.call(handlers, operation, { as: callerOf(operator, 'SYSTEM'), params, body })
  const roleOf = async (as = owner, within = workspace) => {
    const body = { roleName: `Role ${++serial}`, permissionCodes: [] }
    return (await call(roleContract.createRole, { as, workspace: within, body })).bizId
  }
  const invite = async (email: string, as = owner, within = workspace) => {
    const body = { email, roleBizId: await roleOf(as, within) }
    return { invitationBizId: (await call(invitationContract.createInvitation, { as, workspace: within, body })).bizId }
  }
  const keyOf = async (as = owner, within = workspace) => {
    const body = { apiKeyName: `Key ${++serial}`, permissionCodes: ['wallet:read'] }
    const created = await call(apiKeyContract.createApiKey, { as, workspace: within, body })
    return { ...created, secret: created.secret ?? expect.fail('no secret') }
  }
  const use = async (token: string) => {
    await keys.authenticate({ token, portal: 'CONSUMER', clientIp: '203.0.113.7' })
    await keys.settle()
  }
  const limit = (member: AccountId, policyConfig: object | null, within = workspace) =>
    operate(limitMember, { workspace_id: within }, { userBizId: member, policyConfig, reason: 'a court order' })
  const startSession = async (account: AccountId) => {
    const [now, later] = [toDate(world.clock.now()), new Date(world.clock.now() + days(1))]
    await world.database
      .insertInto('sessions')
      .values({
        bizId: systemIds.next<'session'>(),
        portal: 'CONSUMER',
        accountBizId: account,
        clientDigest: new Uint8Array(32),
        clientIp: '203.0.113.7',
        userAgent: 'test',
        loginAt: now,
        lastActivityAt: now,
        idleExpiresAt: later,
        expiresAt: later,
        steppedUpAt: null,
        endedAt: null,
        endReason: null,
      })
      .execute()
  }
  const registerAccount = async () => {
    const { id: ownerId } = await person()
    await startSession(ownerId)
    const opening = { ownerId, name: 'First', kind: 'LIVE', joinSource: 'REGISTRATION', at: world.clock.now() } as const
    const { workspaceId } = await world.database
      .transaction()
      .execute((tx) => world.workspaces.openWithWallets(tx, opening))
    return { ownerId, workspaceId }
  }

  type People = Record<'member' | 'left' | 'guest', { id: AccountId; email: string }[]>
  const populate = async (as: AccountId, within: string) => {
    const people: People = { member: [], left: [], guest: [] }
    let invitation = { invitationBizId: '' }
    for (const kind of ['guest', 'member', 'left', 'member', 'guest', 'member', 'left'] as const) {
      const someone = await person()
      people[kind].push(someone)
      if (kind === 'guest') invitation = await invite(someone.email, as, within)
      else await world.join(within, someone.id, ['wallet:read'])
      if (kind === 'left') {
        await limit(someone.id, { readOnly: true }, within)
        await call(memberContract.leaveWorkspace, { as: someone.id, workspace: within })
      }
    }
    await limit(people.member[0]?.id ?? as, { readOnly: true }, within)
    const { secret, bizId: apiKeyBizId } = await keyOf(as, within)
    await use(secret)
    return { people, invitation, key: { apiKeyBizId } }
  }

  beforeAll(async () => {
    world = await createWorld()
    const { database, clock } = world
    const { memberships: members, notices } = world.members
    const ids = systemIds
    const mailer = { send: async () => undefined, close: async () => undefined }
    const onError = (error: unknown) => {
      throw error
    }
    const settings = { ...accessSettings.apiKeys }
    const secrets = {
      randomness: systemRandomness,
      digest: createKeyedDigest({ current: new Uint8Array(32), previous: [] }),
    }
    keys = createApiKeys({
      assertSessionOpen: alwaysOpen,
      providers: [],
      portals,
      stepUpMs: 300_000,
      notices,
      ...{ database, transaction: transactionOf(database), words, ids, clock, ...secrets, settings },
      members: {
        enter: world.members.enter,
        stay: world.members.stay,
        lock: (tx, id) => members.lock(tx, id),
        assertAccess: (tx, account, access) => members.assertAccess(tx, account, access),
        assertMayGrant: (tx, grantor, permissionCodes) =>
          members.assertMayGrant(tx, grantor, { roleType: 'CUSTOM', permissionCodes }),
        assertMayRestore: (tx, account, id) => members.assertMayRestore(tx, account, id),
        powerOf: (permissionCodes) => members.powerOf({ roleType: 'CUSTOM', permissionCodes }),
        assertOutsider: (tx, account, id) => members.assertOutsider(tx, account, id),
        accessOf: (tx, account, id) => members.accessOf(tx, account, id),
        ownersOf: (tx, id) => members.ownersOf(tx, id),
      },
      accounts: { read: async () => undefined },
      mailer,
      signInUrl: () => '',
      permissions: apiKeyPermissions,
      assertAddressAllowed: async () => undefined,
      onError,
    })
    const ledger = createLedger({ database, clock, ids, types })
    const { withoutTimeouts } = world
    const operatorPorts = {
      portals,
      signInUrl: () => '',
      endSessions,
      freezeOwnWorkspace,
      onSessionsEnded: () => undefined,
      withoutTimeouts,
    }
    const invitations = {
      mailer,
      signInUrl: () => '',
      isRefusedEmail: () => false,
      settings: accessSettings.invitations,
    }
    const roles = {
      assertSessionOpen: alwaysOpen,
      permissionTable: permissionTable.workspace,
      settings: accessSettings.roles,
    }
    handlers = new Map([
      ...world.handlers,
      ...keys.handlers,
      ...createRoles({ database, transaction: transactionOf(database), words, ids, members, notices, ...roles })
        .handlers,
      ...createInvitations({
        assertSessionOpen: alwaysOpen,
        database,
        transaction: transactionOf(database),
        ids,
        members,
        notices,
        words,
        ...invitations,
      }).handlers,
      ...createProfile({
        database,
        transaction: transactionOf(database),
        words,
        isCountry: () => true,
        parsePhone: (text) => text,
      }).handlers,
      ...createOperators({
        sendsMail: true,
        suspendCredentials: async () => ({}),
        database,
        transaction: transactionOf(database),
        ids,
        mailer,
        words,
        ledger,
        clock,
        ...operatorPorts,
      }).handlers,
    ])
    operator = await world.account('operator@example.test', 'SYSTEM')
    const neighbour = await registerAccount()
    theirs = await populate(neighbour.ownerId, neighbour.workspaceId)
    const lateGuest = await person()
    await invite(lateGuest.email, neighbour.ownerId, neighbour.workspaceId)
    theirs.people.guest.push(lateGuest)
    owner = (await person()).id
    workspace = await world.workspaceOf(owner)
    await populate(owner, workspace)
    // All pending rows have expired, but no job has recorded it.
    clock.advance(days(8))
    others = await rowsOf(database)
    clock.advance(60_000)
  })
  beforeEach(() => expect(others.size).toBeGreaterThan(20))
  afterEach(async () => {
    const now = await rowsOf(world.database)
    const changed = [...others.difference(now)]
    // Only the test that caused a change reports it.
    others = others.intersection(now)
    expect(changed, changed.join('\n')).toEqual([])
  })
  afterAll(() => world.close())

  const next = (kind: keyof People) => {
    const someone = theirs.people[kind].shift()
    if (!someone) throw new Error(`populate() creates too few accounts: ${kind}`)
    return someone
  }

  test('roles.create, roles.update, roles.setPermissions and roles.delete 200', async () => {
    const roleBizId = await roleOf()
    await call(roleContract.updateRole, { body: { roleBizId, roleName: 'Another', description: 'Other' } })
    await call(roleContract.setRolePermissions, { body: { roleBizId, permissionCodes: ['wallet:read'] } })
    await call(roleContract.deleteRole, { body: { roleBizId } })
  })

  test('roles.changeMember and workspaces.limitMember 200: a member of both workspaces', async () => {
    const { id } = next('member')
    await world.join(workspace, id, [])
    await call(roleContract.changeMemberRole, { body: { userBizId: id, roleBizId: await roleOf() } })
    await limit(id, { defaultEligible: false })
    await limit(id, null)
  })

  test('workspaces.leave 200: a member of both workspaces', async () => {
    const { id } = next('member')
    await world.join(workspace, id, [])
    await call(memberContract.leaveWorkspace, { as: id })
  })

  test('workspaces.leave and invitations.accept 200: former limits in both workspaces', async () => {
    const { id, email } = next('left')
    await world.join(workspace, id, [])
    await limit(id, { readOnly: true })
    await call(memberContract.leaveWorkspace, { as: id })
    await call(invitationContract.acceptInvitation, { as: id, body: await invite(email) })
    expect(await call(memberContract.listMyWorkspaces, { as: id })).toMatchObject([
      { policyConfig: { readOnly: true } },
    ])
  })

  test('invitations.accept 200: no limits of another workspace', async () => {
    const { id, email } = next('left')
    await call(invitationContract.acceptInvitation, { as: id, body: await invite(email) })
    expect(await call(memberContract.listMyWorkspaces, { as: id })).toMatchObject([{ policyConfig: null }])
  })

  test('invitations.create, accept, decline and cancel 200: guests of both workspaces', async () => {
    const [first, second, third] = [next('guest'), next('guest'), next('guest')]
    await call(invitationContract.acceptInvitation, { as: first.id, body: await invite(first.email) })
    const declined = await invite(second.email)
    await call(invitationContract.declineInvitation, { as: second.id, body: { ...declined, reason: 'No' } })
    await call(invitationContract.cancelInvitation, { body: await invite(third.email) })
  })

  test('workspaces.create, workspaces.update and workspaces.setDefault 200', async () => {
    const { id: as } = await person()
    const create = async (workspaceName: string) =>
      (await call(contract.createWorkspace, { as, body: { workspaceName } })).bizId
    const [first, second] = [await create('First'), await create('Second')]
    await call(contract.updateCurrentWorkspace, { as, workspace: first, body: { workspaceName: 'Renamed' } })
    for (const id of [second, first, second]) await call(memberContract.setDefaultWorkspace, { as, workspace: id })
    const mine = await call(memberContract.listMyWorkspaces, { as })
    world.clock.advance(1_000)
    await call(memberContract.setDefaultWorkspace, { as, workspace: second })
    expect(await call(memberContract.listMyWorkspaces, { as })).toEqual(mine)
    expect(mine.map((each) => [each.workspaceBizId, each.workspaceName, each.isDefault])).toEqual([
      [second, 'Second', true],
      [first, 'Renamed', false],
    ])
  })

  test('apiKeys.create, disable, enable and delete 200, and authentication', async () => {
    const { bizId: apiKeyBizId, secret } = await keyOf()
    await use(secret)
    for (const operation of [apiKeyContract.disableApiKey, apiKeyContract.enableApiKey, apiKeyContract.deleteApiKey])
      await call(operation, { body: { apiKeyBizId } })
  })

  test('operators.freezeWorkspace and operators.unfreezeWorkspace 200', async () => {
    const reason = { reason: 'a court order' }
    const frozen = { workspace_id: await world.workspaceOf((await person()).id) }
    await operate(freezeWorkspace, frozen, reason)
    await operate(unfreezeWorkspace, frozen, reason)
  })

  test('operators.rejectAccount, approveAccount, suspendAccount and reactivateAccount 200', async () => {
    const pendingAccount = async () => {
      const { ownerId } = await registerAccount()
      const account = world.database.updateTable('accounts').set({ accountStatus: 'PENDING_APPROVAL' })
      await account.where('bizId', '=', ownerId).execute()
      return { account_id: ownerId }
    }
    const rejected = await pendingAccount()
    // A rejection freezes only the workspace that the registration opened.
    await world.join(workspace, rejected.account_id, [])
    await operate(accountContract.rejectAccount, rejected, { reason: 'no such person' })
    const approved = await pendingAccount()
    await operate(accountContract.approveAccount, approved)
    await operate(accountContract.terminateAccountSessions, approved)
    await operate(accountContract.suspendAccount, approved, { reason: 'under review' })
    await operate(accountContract.reactivateAccount, approved)
  })

  test('profile.update 200', async () => {
    const { id: as } = await person()
    await call(updateProfile, { as, body: { accountName: 'Renamed' } })
  })

  test('invitations.accept, cancel and apiKeys.disable 404: resources of the other workspace', async () => {
    for (const pending of [
      call(invitationContract.acceptInvitation, { body: theirs.invitation }),
      call(invitationContract.cancelInvitation, { body: theirs.invitation }),
      call(apiKeyContract.disableApiKey, { body: theirs.key }),
    ])
      expect(await refusalOf(pending)).toBe('RESOURCE.NOT_FOUND')
  })
})
