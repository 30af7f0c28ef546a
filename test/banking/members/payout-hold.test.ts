import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as invitations from '../../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../../src/banking/invitations/index.ts'
import { suspendBroughtIn } from '../../../src/banking/members/recovery.ts'
import * as roles from '../../../src/banking/roles/contract.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import * as transfers from '../../../src/banking/transfers/contract.ts'
import { createTransfers } from '../../../src/banking/transfers/index.ts'
import * as channelContract from '../../../src/banking/withdrawal-channels/contract.ts'
import { createWithdrawalChannels, type WithdrawalChannels } from '../../../src/banking/withdrawal-channels/index.ts'
import { defaultNetworks } from '../../../src/banking/withdrawal-channels/networks.ts'
import { permissionTable } from '../../../src/contract/index.ts'
import {
  type AccountId,
  addMs,
  bizId,
  type HandlerTable,
  type Refusal,
  type WorkspaceId,
} from '../../../src/kernel/index.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { handlerCaller } from '../../ledger/handler-caller.ts'
import { createTestBank, type TestBank } from '../../ledger/test-bank.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  refusalOf,
  stepUpMs,
  transactionOf,
  unlimitedPayouts,
  type World,
  words,
} from '../world.ts'

const holdMs = 72 * 3_600_000
let world: World
let bank: TestBank
let handlers: HandlerTable
let callTransfers: ReturnType<typeof handlerCaller>
let channels: WithdrawalChannels
let callChannels: ReturnType<typeof handlerCaller>
let serial = 0
let founder: AccountId
let thief: AccountId
let workspace: WorkspaceId
let owners: string
let clerks: string

beforeAll(async () => {
  world = await createWorld()
  world.limits.payoutHoldMs = holdMs
  const { database, clock } = world
  bank = await createTestBank(database)
  const { memberships, notices } = world.members
  const shared = {
    database,
    transaction: transactionOf(database),
    words,
    ids: systemIds,
    members: memberships,
    notices,
    assertSessionOpen: alwaysOpen,
  }
  const mailer = { send: async () => undefined }
  handlers = new Map([
    ...createRoles({ ...shared, permissionTable: permissionTable.workspace, settings: accessSettings.roles }).handlers,
    ...createInvitations({
      ...{ ...shared, mailer, signInUrl: () => '', isRefusedEmail: () => false },
      settings: accessSettings.invitations,
    }).handlers,
  ])
  const domain = createTransfers({
    ...unlimitedPayouts,
    ...{ ledger: bank.ledger, words, approvalThreshold: {}, fixedFee: {}, approvalLifeMs: 1_000 },
    assertNotHeld: (member, at, isExempt) =>
      memberships.assertNotHeld(database, member, ['transfer:create'], at, isExempt),
  })
  callTransfers = handlerCaller([domain.handlers], clock)
  const keys = { current: Buffer.alloc(32, 7), previous: [] }
  channels = createWithdrawalChannels({
    ...{ ...shared, ledger: bank.ledger, clock },
    secretBox: createSecretBox(keys, systemRandomness),
    digest: createKeyedDigest(keys),
    maxPerWorkspace: 20,
    suspendYoungerThanMs: holdMs,
    isCountry: () => true,
    networks: defaultNetworks,
  })
  callChannels = handlerCaller([channels.handlers], clock)
})
afterAll(() => world.close())

async function join(): Promise<AccountId> {
  const account = await world.account(`member${++serial}@example.test`)
  await world.join(workspace, account, ['wallet:read'])
  return account
}
function assign(as: AccountId, userBizId: AccountId, roleBizId: string) {
  return world.call(handlers, roles.changeMemberRole, { as, workspace, body: { userBizId, roleBizId } })
}
function invite(as: AccountId, roleBizId: string) {
  return world.call(handlers, invitations.createInvitation, {
    ...{ as, workspace },
    body: { email: `guest${++serial}@example.test`, roleBizId },
  })
}

beforeEach(async () => {
  founder = await world.account(`founder${++serial}@example.test`)
  workspace = bizId<'workspace'>(await world.workspaceOf(founder))
  thief = await join()
  const found = await world.call(handlers, roles.listRoles, { as: founder, workspace })
  owners = found.find(({ roleType }) => roleType.code === 'OWNER')?.bizId ?? ''
  clerks = await world.join(workspace, await world.account(`clerk${++serial}@example.test`), ['wallet:read'])
})

async function pay(as: AccountId, inside: boolean) {
  const from = await bank.wallet('USD', '10.00', workspace)
  const to = await bank.wallet('USD', undefined, inside ? workspace : undefined)
  const body = { sourceWalletBizId: from.id, targetWalletBizId: to.id, amount: '1.00', currency: 'USD' }
  return callTransfers(transfers.createTransfer, { as, workspace, body })
}

describe('the hold on newly gained payout permissions', () => {
  test('transfers.create 403 ACCESS.PAYOUT_HOLD: until the hold ends, also after a demotion', async () => {
    await assign(founder, thief, owners)
    expect(await refusalOf(pay(thief, false))).toBe('ACCESS.PAYOUT_HOLD')
    await assign(thief, thief, clerks)
    world.clock.advance(holdMs - 1)
    const refused = await pay(thief, false).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'ACCESS.PAYOUT_HOLD', detail: { retryAfter: 1 } } satisfies Partial<Refusal>)
    world.clock.advance(1)
    expect(await refusalOf(pay(thief, false))).toBe('none')
  })

  test('transfers.create 200: inside the workspace, and by the founder', async () => {
    await assign(founder, thief, owners)
    expect(await refusalOf(pay(thief, true))).toBe('none')
    expect(await refusalOf(pay(founder, false))).toBe('none')
  })

  test('transfers.create 403 ACCESS.PAYOUT_HOLD: an invited OWNER', async () => {
    const invited = await world.account(`invited${++serial}@example.test`)
    const { memberships } = world.members
    const member = {
      workspaceId: workspace,
      accountId: invited,
      roleId: bizId<'role'>(owners),
      joinSource: 'INVITATION',
    }
    await world.database
      .transaction()
      .execute((tx) =>
        memberships.add(tx, { ...member, joinSource: 'INVITATION', grantedBy: founder }, world.clock.now()),
      )
    expect(await refusalOf(pay(invited, false))).toBe('ACCESS.PAYOUT_HOLD')
  })

  test('roles.changeMember 403 ACCESS.PAYOUT_HOLD: a new OWNER cannot demote an older one', async () => {
    await assign(founder, thief, owners)
    expect(await refusalOf(assign(thief, founder, clerks))).toBe('ACCESS.PAYOUT_HOLD')
    world.clock.advance(1)
    const later = await join()
    await assign(founder, later, owners)
    expect(await refusalOf(assign(later, thief, clerks))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(assign(thief, later, clerks))).toBe('none')
    expect(await refusalOf(assign(founder, thief, clerks))).toBe('none')
  })

  test('roles.changeMember, setPermissions, invitations.create 403 ACCESS.PAYOUT_HOLD: grants of payouts', async () => {
    await assign(founder, thief, owners)
    const payers = await world.join(workspace, await join().then(() => world.account(`p${++serial}@example.test`)), [
      'transfer:create',
    ])
    const partner = await join()
    expect(await refusalOf(assign(thief, partner, payers))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(assign(thief, partner, owners))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(invite(thief, payers))).toBe('ACCESS.PAYOUT_HOLD')
    const body = { roleBizId: clerks, permissionCodes: ['withdrawal:create'] }
    const change = world.call(handlers, roles.setRolePermissions, { as: thief, workspace, body })
    expect(await refusalOf(change)).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(assign(thief, partner, clerks))).toBe('none')
    expect(await refusalOf(invite(founder, payers))).toBe('none')
  })

  test('invitations.confirm 403 ACCESS.PAYOUT_HOLD: a suspended invitation that grants payouts', async () => {
    await assign(founder, thief, owners)
    const { bizId: invitationBizId } = await invite(founder, owners)
    await world.database
      .updateTable('invitations')
      .set({ invitationStatus: 'SUSPENDED' })
      .where('bizId', '=', bizId<'invitation'>(invitationBizId))
      .execute()
    const confirm = (as: AccountId) =>
      world.call(handlers, invitations.confirmInvitation, { as, workspace, body: { invitationBizId } })
    expect(await refusalOf(confirm(thief))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(confirm(founder))).toBe('none')
  })

  test('withdrawalChannels.reactivate 403 ACCESS.PAYOUT_HOLD: a suspended channel', async () => {
    await assign(founder, thief, owners)
    const create = { as: founder, workspace, body: payoutAccount() }
    const { bizId: channel } = await callChannels(channelContract.createWithdrawalChannel, create)
    const recovered = { accountId: founder, at: world.clock.now() }
    expect(await world.database.transaction().execute((tx) => channels.suspend(tx, recovered))).toBe(1)
    const reactivate = (as: AccountId) =>
      callChannels(channelContract.reactivateWithdrawalChannel, {
        ...{ as, workspace },
        params: { withdrawal_channel_id: channel },
      })
    expect(await refusalOf(reactivate(thief))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(reactivate(founder))).toBe('none')
  })

  test('password.reset 200: suspends a channel that the recovered account reactivated', async () => {
    await assign(founder, thief, owners)
    const create = { as: founder, workspace, body: payoutAccount() }
    const { bizId: channel } = await callChannels(channelContract.createWithdrawalChannel, create)
    const recover = (accountId: AccountId) =>
      world.database.transaction().execute(async (tx) => {
        const at = world.clock.now()
        await suspendBroughtIn(tx, { accountId, since: addMs(at, -holdMs), at })
        return channels.suspend(tx, { accountId, at })
      })
    world.clock.advance(holdMs + 1)
    await world.database
      .updateTable('withdrawal_channels')
      .set({ channelStatus: 'SUSPENDED', suspendedStatus: 'ACTIVE' })
      .where('bizId', '=', bizId<'withdrawalChannel'>(channel))
      .execute()
    const params = { withdrawal_channel_id: channel }
    await callChannels(channelContract.reactivateWithdrawalChannel, { as: thief, workspace, params })
    world.clock.advance(1)
    expect(await recover(thief)).toBe(1)
  })
})

describe('the hold on payout permissions of a role', () => {
  const roleOf = async (permissionCodes: string[]): Promise<string> => {
    const body = { roleName: `role ${++serial}`, permissionCodes }
    return (await world.call(handlers, roles.createRole, { as: founder, workspace, body })).bizId
  }
  const setPermissions = (roleBizId: string, permissionCodes: string[]) =>
    world.call(handlers, roles.setRolePermissions, { as: founder, workspace, body: { roleBizId, permissionCodes } })
  const create = (accountId: AccountId) =>
    world.members.memberships.assertNotHeld(
      world.database,
      { accountId, workspaceId: workspace },
      ['withdrawal-channel:manage'],
      world.clock.now(),
    )

  test('transfers.create 403 ACCESS.PAYOUT_HOLD: a changed role, and again after losing it', async () => {
    const payers = await roleOf(['transfer:create'])
    await assign(founder, thief, payers)
    expect(await refusalOf(pay(thief, false))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(pay(thief, true))).toBe('none')
    world.clock.advance(holdMs)
    expect(await refusalOf(pay(thief, false))).toBe('none')
    await assign(founder, thief, clerks)
    await assign(founder, thief, payers)
    expect(await refusalOf(pay(thief, false))).toBe('ACCESS.PAYOUT_HOLD')
  })

  test('withdrawalChannels.create 403 ACCESS.PAYOUT_HOLD: a widened role; earlier permissions stay usable', async () => {
    const finance = await roleOf(['transfer:create'])
    await assign(founder, thief, finance)
    world.clock.advance(holdMs)
    await setPermissions(finance, ['transfer:create', 'withdrawal-channel:manage'])
    expect(await refusalOf(create(thief))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(pay(thief, false))).toBe('none')
    world.clock.advance(holdMs)
    expect(await refusalOf(create(thief))).toBe('none')
    await setPermissions(finance, ['withdrawal-channel:manage'])
    await setPermissions(finance, ['transfer:create', 'withdrawal-channel:manage'])
    expect(await refusalOf(pay(thief, false))).toBe('ACCESS.PAYOUT_HOLD')
    expect(await refusalOf(create(thief))).toBe('none')
  })

  test('transfers.create 403 ACCESS.PAYOUT_HOLD: a member of long standing who becomes OWNER', async () => {
    await assign(founder, thief, await roleOf(['transfer:create']))
    world.clock.advance(holdMs)
    await assign(founder, thief, owners)
    expect(await refusalOf(pay(thief, false))).toBe('ACCESS.PAYOUT_HOLD')
  })

  test('roles.create 403 ACCESS.PAYOUT_HOLD: a member whose permission is held creates a role with it', async () => {
    await assign(founder, thief, await roleOf(['transfer:create', 'role:manage']))
    const body = (permissionCodes: string[]) => ({ roleName: `role ${++serial}`, permissionCodes })
    const createRole = (permissionCodes: string[]) =>
      refusalOf(world.call(handlers, roles.createRole, { as: thief, workspace, body: body(permissionCodes) }))
    expect(await createRole(['transfer:create'])).toBe('ACCESS.PAYOUT_HOLD')
    expect(await createRole(['role:manage'])).toBe('none')
    world.clock.advance(holdMs)
    expect(await createRole(['transfer:create'])).toBe('none')
  })
})

describe('invitations to OWNER', () => {
  test('invitations.create 403 ACCESS.STEP_UP_REQUIRED: OWNER only, and no earlier than the step-up allows', async () => {
    const body = { email: `guest${++serial}@example.test`, roleBizId: owners }
    const create = (steppedUpAt: number | null, roleBizId = owners) => {
      const as = { ...callerOf(founder), steppedUpAt: steppedUpAt as never }
      return refusalOf(
        world.call(handlers, invitations.createInvitation, { as, workspace, body: { ...body, roleBizId } }),
      )
    }
    expect(await create(null)).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await create(world.clock.now() - stepUpMs - 1)).toBe('ACCESS.STEP_UP_REQUIRED')
    expect(await create(world.clock.now() - stepUpMs)).toBe('none')
    body.email = `guest${++serial}@example.test`
    expect(await create(null, clerks)).toBe('none')
  })
})
