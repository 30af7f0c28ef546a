import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as apiKeys from '../../src/banking/api-keys/contract.ts'
import { suspendApiKeys } from '../../src/banking/api-keys/service.ts'
import * as invitations from '../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../src/banking/invitations/index.ts'
import { suspendInvitations } from '../../src/banking/invitations/service.ts'
import * as channelContract from '../../src/banking/withdrawal-channels/contract.ts'
import { createWithdrawalChannels, type WithdrawalChannels } from '../../src/banking/withdrawal-channels/index.ts'
import { defaultNetworks } from '../../src/banking/withdrawal-channels/networks.ts'
import { apiKeyPermissions } from '../../src/contract/index.ts'
import { assertSessionOpen } from '../../src/identity/index.ts'
import { resetPassword } from '../../src/identity/passwords/contract.ts'
import { bizId, days, type HandlerTable, type WorkspaceId } from '../../src/kernel/index.ts'
import { createKeyedDigest, createSecretBox } from '../../src/platform/crypto/index.ts'
import { systemIds, systemRandomness } from '../../src/platform/runtime/index.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { type Harness, harness, signedIn } from '../identity/harness.ts'
import { callAnonymously, newPassword, requestResetLink, resetTokenOf } from '../identity/recovery.ts'
import { handlerCaller } from '../ledger/handler-caller.ts'
import { everyStore } from '../ledger/stores.ts'
import { createTestBank } from '../ledger/test-bank.ts'
import { createTestApiKeys } from './api-keys/fixture.ts'
import { accessSettings, createWorld, refusalOf, stepUpMs, transactionOf, type World, words } from './world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const rounds = 12
/** Maximum number of invitations per inviter and workspace. */
const maxPerDay = 3
/** The reset starts after this many of the concurrent commands. */
function startOf(round: number): number {
  return round % 4
}

/** Commands that create credentials, concurrent with a reset of their account's password. */
describe.each(stores)('recovery of an account on $name', (store) => {
  let world: World
  let at: Harness
  let handlers: HandlerTable
  let channels: WithdrawalChannels
  let callChannels: ReturnType<typeof handlerCaller>
  let serial = 0

  beforeAll(async () => {
    world = await createWorld(async () => store)
    const { database, clock } = world
    const { memberships: members, notices } = world.members
    const { ledger } = await createTestBank(database)
    const keys = { current: Buffer.alloc(32, 7), previous: [] }
    channels = createWithdrawalChannels({
      ...{
        database,
        transaction: transactionOf(database),
        ledger,
        clock,
        ids: systemIds,
        words,
        members,
        notices,
        assertSessionOpen,
      },
      secretBox: createSecretBox(keys, systemRandomness),
      digest: createKeyedDigest(keys),
      maxPerWorkspace: 20,
      suspendYoungerThanMs: days(3),
      isCountry: () => true,
      networks: defaultNetworks,
    })
    callChannels = handlerCaller([channels.handlers], clock)
    handlers = new Map([
      ...createTestApiKeys(world, [], assertSessionOpen).handlers,
      ...createInvitations({
        ...{
          database,
          transaction: transactionOf(database),
          ids: systemIds,
          words,
          members,
          notices,
          assertSessionOpen,
          stepUpMs,
        },
        ...{ mailer: { send: async () => undefined }, signInUrl: () => '', isRefusedEmail: () => false },
        settings: { ...accessSettings.invitations, maxPerDay },
      }).handlers,
    ])
    at = await harness(
      (settings) => {
        settings.portals.CONSUMER.forgot.limit = 10_000
      },
      (ports) => {
        ports.suspendCredentials = async (tx, account) => ({
          apiKeys: await suspendApiKeys(tx, account),
          invitations: await suspendInvitations(tx, account),
          withdrawalChannels: await channels.suspend(tx, account),
        })
      },
      { database, close: async () => undefined },
    )
    at.clock.set(clock.now())
  })
  afterAll(() => at?.close())

  const ownerRoleOf = async (workspace: WorkspaceId): Promise<string> =>
    (
      await world.database
        .selectFrom('roles')
        .select('bizId as id')
        .where('workspaceBizId', '=', workspace)
        .where('roleType', '=', 'OWNER')
        .executeTakeFirstOrThrow()
    ).id

  /** Creates an account with a workspace and a session, and requests a reset link. */
  const prepare = async () => {
    const email = `owner${++serial}@example.test`
    const workspace = bizId<'workspace'>(await world.workspaceOf(await at.account(email)))
    const caller = { ...(await signedIn(at, email)), steppedUpAt: world.clock.now() }
    const access = await world.members.enter(caller, workspace)
    await requestResetLink(at, email)
    const token = resetTokenOf(at, email)
    const input = { as: caller, workspace, access }
    const roleBizId = await ownerRoleOf(workspace)
    const commands = [
      () =>
        world.call(handlers, apiKeys.createApiKey, {
          ...input,
          body: { apiKeyName: 'Till', permissionCodes: [apiKeyPermissions[0]] },
        }),
      () =>
        world.call(handlers, invitations.createInvitation, {
          ...input,
          body: { email: `guest${serial}@example.test`, roleBizId },
        }),
      () => callChannels(channelContract.createWithdrawalChannel, { as: caller, workspace, body: payoutAccount() }),
    ]
    return {
      ...{ workspace, caller, input, commands },
      reset: () => callAnonymously(at, resetPassword, { token, newPassword }),
    }
  }

  /** Returns the credentials of a workspace that are not suspended. */
  const usable = async (workspace: WorkspaceId): Promise<string[]> => {
    const { database } = world
    const keys = await database
      .selectFrom('api_keys')
      .select('apiKeyStatus as status')
      .where('workspaceBizId', '=', workspace)
      .execute()
    const sent = await database
      .selectFrom('invitations')
      .select('invitationStatus as status')
      .where('workspaceBizId', '=', workspace)
      .execute()
    const accounts = await database
      .selectFrom('withdrawal_channels')
      .select('channelStatus as status')
      .where('workspaceBizId', '=', workspace)
      .execute()
    return [...keys, ...sent, ...accounts].map(({ status }) => status).filter((status) => status !== 'SUSPENDED')
  }

  test('apiKeys.create, invitations.create, withdrawalChannels.create 401: the session ended meanwhile', async () => {
    const { workspace, commands, reset } = await prepare()
    await reset()
    const refusals: string[] = []
    for (const command of commands) refusals.push(await refusalOf(command()))
    expect(refusals).toEqual(Array(3).fill('ACCESS.TOKEN_INVALID'))
    expect(await usable(workspace)).toEqual([])
  })

  test('apiKeys.enable, invitations.confirm, withdrawalChannels.reactivate 401: after a reset', async () => {
    const { workspace, caller, input, commands, reset } = await prepare()
    for (const command of commands) await command()
    await reset()
    const idOf = async (table: 'api_keys' | 'invitations' | 'withdrawal_channels') =>
      (
        await world.database
          .selectFrom(table)
          .select('bizId as id')
          .where('workspaceBizId', '=', workspace)
          .executeTakeFirstOrThrow()
      ).id
    const [apiKeyBizId, invitationBizId] = [await idOf('api_keys'), await idOf('invitations')]
    const params = { withdrawal_channel_id: await idOf('withdrawal_channels') }
    const refusals = [
      await refusalOf(world.call(handlers, apiKeys.enableApiKey, { ...input, body: { apiKeyBizId } })),
      await refusalOf(world.call(handlers, invitations.confirmInvitation, { ...input, body: { invitationBizId } })),
      await refusalOf(callChannels(channelContract.reactivateWithdrawalChannel, { as: caller, workspace, params })),
    ]
    expect(refusals).toEqual(Array(3).fill('ACCESS.TOKEN_INVALID'))
    expect(await usable(workspace)).toEqual([])
  })

  test('password.reset 200: concurrent commands leave no usable credential', async () => {
    for (let round = 0; round < rounds; round++) {
      const { workspace, commands, reset } = await prepare()
      const works: (() => Promise<unknown>)[] = [...commands]
      works.splice(startOf(round), 0, reset)
      const ends = await Promise.all(works.map((work) => refusalOf(work())))
      expect(ends[startOf(round)]).toBe('none')
      for (const end of ends) expect(['none', 'ACCESS.TOKEN_INVALID']).toContain(end)
      expect(await usable(workspace)).toEqual([])
    }
  })

  test('password.reset 200: waits for a command that holds the account', async () => {
    const { workspace, caller, input, reset } = await prepare()
    const id = systemIds.next<'apiKey'>()
    let done: Promise<unknown> = Promise.resolve()
    await world.database.transaction().execute(async (tx) => {
      await assertSessionOpen(tx, caller)
      done = reset()
      await tx
        .insertInto('api_keys')
        .values({
          ...{
            workspaceBizId: workspace,
            bizId: id,
            apiKeyName: 'Late',
            keyPrefix: `ptk_${id}`,
            keyLast4: 'xxxx',
          },
          ...{ secretDigest: new Uint8Array(32), apiKeyStatus: 'ACTIVE', permissionCodes: [], ipAllowlist: [] },
          ...{ expiresAt: null, lastUsedIp: null, createdBy: input.as.accountId },
          ...{ createdAt: new Date(world.clock.now()), updatedAt: new Date(world.clock.now()) },
        })
        .execute()
      await new Promise((resolve) => setTimeout(resolve, 100))
    })
    await done
    expect(await usable(workspace)).toEqual([])
  })

  test('invitations.create 429: parallel requests in several workspaces stay within the limit of the inviter', async () => {
    for (let round = 0; round < rounds; round++) {
      const email = `inviter${++serial}@example.test`
      const id = await at.account(email)
      const as = { ...(await signedIn(at, email)), steppedUpAt: world.clock.now() }
      const offers = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const workspace = bizId<'workspace'>(await world.workspaceOf(id))
          return { workspace, roleBizId: await ownerRoleOf(workspace) }
        }),
      )
      const invite = ({ workspace, roleBizId }: (typeof offers)[number], guest: number) =>
        refusalOf(
          world.call(handlers, invitations.createInvitation, {
            ...{ as, workspace },
            body: { email: `guest${serial}-${guest}@example.test`, roleBizId },
          }),
        )
      const ends = await Promise.all(offers.map(invite))
      expect(ends.toSorted()).toEqual([
        ...Array(maxPerDay).fill('ACCESS.RATE_LIMITED'),
        ...Array(maxPerDay).fill('none'),
      ])
    }
  })
})
