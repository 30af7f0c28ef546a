import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as invitationContract from '../../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../../src/banking/invitations/index.ts'
import * as memberContract from '../../../src/banking/members/contract.ts'
import * as operatorContract from '../../../src/banking/operators/contract.ts'
import { createOperators } from '../../../src/banking/operators/index.ts'
import * as roleContract from '../../../src/banking/roles/contract.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import * as sandboxContract from '../../../src/banking/sandbox/contract.ts'
import { createSandbox } from '../../../src/banking/sandbox/index.ts'
import * as contract from '../../../src/banking/workspaces/contract.ts'
import { freezeOwnWorkspace } from '../../../src/banking/workspaces/index.ts'
import { permissionTable } from '../../../src/contract/index.ts'
import type { Database } from '../../../src/database/index.ts'
import { endSessions } from '../../../src/identity/index.ts'
import {
  type AccountId,
  bizId,
  type HandlerTable,
  money,
  type OrderId,
  toDate,
  type WalletId,
  type WorkspaceId,
} from '../../../src/kernel/index.ts'
import { executePosting } from '../../../src/ledger/commands/execute-store.ts'
import { createLedger, type Ledger } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  portals,
  refusalOf,
  transactionOf,
  types,
  type World,
  words,
} from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const rounds = 8
const parallel = 6
function runParallel<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

describe.each(stores)('concurrency on $name', (store) => {
  let world: World
  let handlers: HandlerTable
  let ledger: Ledger
  let serial = 0
  beforeAll(async () => {
    world = await createWorld(async () => store)
    const { database, clock } = world
    const { memberships: members, notices } = world.members
    const roles = {
      assertSessionOpen: alwaysOpen,
      permissionTable: permissionTable.workspace,
      settings: accessSettings.roles,
    }
    ledger = createLedger({ database, clock, ids: systemIds, types })
    await ledger.ensureHouseAccounts(['USD'])
    const mailer = { send: async () => undefined, close: async () => undefined }
    handlers = new Map([
      ...world.handlers,
      ...createRoles({
        database,
        transaction: transactionOf(database),
        words,
        ids: systemIds,
        members,
        notices,
        ...roles,
      }).handlers,
      ...createInvitations({
        assertSessionOpen: alwaysOpen,
        database,
        transaction: transactionOf(database),
        ids: systemIds,
        members,
        notices,
        mailer,
        signInUrl: () => '',
        isRefusedEmail: () => false,
        words,
        settings: accessSettings.invitations,
      }).handlers,
      ...createSandbox({ database, transaction: transactionOf(database), ledger, members, cleaners: [] }).handlers,
      ...createOperators({
        sendsMail: true,
        suspendCredentials: async () => ({}),
        database,
        transaction: transactionOf(database),
        ids: systemIds,
        mailer,
        words,
        portals,
        signInUrl: () => '',
        endSessions,
        freezeOwnWorkspace,
        onSessionsEnded: () => undefined,
        ledger,
        clock,
        withoutTimeouts: world.withoutTimeouts,
      }).handlers,
    ])
  })

  const newAccount = () => world.account(`account${++serial}@example.test`)
  const openWallet = (workspaceBizId: WorkspaceId, wallet: WalletId) => {
    const fields = { walletName: 'Main', currency: 'USD', isDefault: true }
    return ledger.openWallet({ bizId: wallet, workspaceBizId, ...fields, at: world.clock.now() })
  }

  type Row = readonly [table: 'orders' | 'ledger_accounts', id: string]
  /** Starts after another transaction has locked the first row. */
  const resetBetween = async (by: { as: AccountId; workspace: WorkspaceId }, first: Row, second: Row) => {
    let reset: Promise<string> | undefined
    await world.database.transaction().execute(async (tx) => {
      const lock = ([table, id]: Row) => sql`SELECT FROM ${sql.table(table)} WHERE biz_id = ${id} FOR NO KEY UPDATE`
      await sql`SET LOCAL lock_timeout = '300ms'`.execute(tx)
      await lock(first).execute(tx)
      reset = refusalOf(world.call(handlers, sandboxContract.resetSandbox, by))
      await pause(200)
      await lock(second).execute(tx)
    })
    return reset
  }

  test('operators.suspendAccount 401: one of several operators who suspend each other remains', async () => {
    for (let round = 0; round < rounds; round++) {
      const operators = await runParallel(parallel, () => world.account(`operator${++serial}@example.test`, 'SYSTEM'))
      const suspend = (as: AccountId, account_id: AccountId) => {
        const input = { as: callerOf(as, 'SYSTEM'), params: { account_id }, body: { reason: 'test' } }
        return refusalOf(world.call(handlers, operatorContract.suspendAccount, input))
      }
      const others = (one: AccountId) => operators.filter((other) => other !== one)
      const results = await Promise.all(operators.flatMap((one) => others(one).map((other) => suspend(one, other))))
      expect(results.filter((end) => end === 'none')).toHaveLength(parallel - 1)
      expect(results).toContain('ACCESS.TOKEN_INVALID')
    }
  })

  test('workspaces.setDefault 200: concurrent calls leave one default', async () => {
    const as = await newAccount()
    const mine = await runParallel(parallel, () => world.workspaceOf(as))
    for (let round = 0; round < rounds; round++) {
      await Promise.all(
        mine.map((workspace) => world.call(handlers, memberContract.setDefaultWorkspace, { as, workspace })),
      )
      const listed = await world.call(handlers, memberContract.listMyWorkspaces, { as })
      expect(listed.filter((row) => row.isDefault)).toHaveLength(1)
    }
  })

  test('workspaces.create 200: concurrent calls leave one default', async () => {
    const as = await newAccount()
    await runParallel(parallel, (index) =>
      world.call(handlers, contract.createWorkspace, { as, body: { workspaceName: `Workspace ${index}` } }),
    )
    const listed = await world.call(handlers, memberContract.listMyWorkspaces, { as })
    expect(listed).toHaveLength(parallel)
    expect(listed.filter((row) => row.isDefault)).toHaveLength(1)
  })

  test('workspaces.create: concurrent calls respect the maximum number of workspaces', async () => {
    const as = await newAccount()
    const others = await runParallel(parallel, async () => world.workspaceOf(await newAccount()))
    world.limits.maxPerAccount = 3
    await Promise.allSettled([
      ...others.map((workspace) => world.join(workspace, as, [])),
      ...others.map((_, index) =>
        world.call(handlers, contract.createWorkspace, { as, body: { workspaceName: `Workspace ${index}` } }),
      ),
    ])
    Object.assign(world.limits, accessSettings.workspaces)
    expect(await world.call(handlers, memberContract.listMyWorkspaces, { as })).toHaveLength(3)
  })

  test('invitations: created once and ended once under concurrent calls', async () => {
    for (let round = 0; round < rounds; round++) {
      const as = await newAccount()
      const workspace = await world.workspaceOf(as)
      const guest = await newAccount()
      const guestEmail = `account${serial}@example.test`
      const role = await world.call(handlers, roleContract.createRole, {
        as,
        workspace,
        body: { roleName: 'Guest', permissionCodes: [] },
      })
      const created = await runParallel(parallel, () =>
        refusalOf(
          world.call(handlers, invitationContract.createInvitation, {
            as,
            workspace,
            body: { email: guestEmail, roleBizId: role.bizId },
          }),
        ),
      )
      expect(created.filter((end) => end === 'none')).toHaveLength(1)
      const [invitation] = await world.call(handlers, invitationContract.listMyInvitations, { as: guest })
      const body = { invitationBizId: invitation?.bizId }
      const responses = await Promise.all(
        [
          world.call(handlers, invitationContract.acceptInvitation, { as: guest, body }),
          world.call(handlers, invitationContract.acceptInvitation, { as: guest, body }),
          world.call(handlers, invitationContract.declineInvitation, { as: guest, body: { ...body, reason: 'No' } }),
          world.call(handlers, invitationContract.cancelInvitation, { as, workspace, body }),
        ].map(refusalOf),
      )
      expect(responses.filter((end) => end === 'none')).toHaveLength(1)
      expect(responses.filter((end) => end === 'STATE.CONFLICT')).toHaveLength(3)
    }
  })

  const sandbox = async () => {
    const as = await newAccount()
    const workspace = bizId<'workspace'>(await world.workspaceOf(as, 'Play', 'SANDBOX'))
    const wallet = async (walletName: string, isDefault: boolean): Promise<WalletId> => {
      const id = systemIds.next<'wallet'>()
      const at = world.clock.now()
      await ledger.openWallet({ bizId: id, workspaceBizId: workspace, walletName, currency: 'USD', isDefault, at })
      return id
    }
    const [main, spare] = [await wallet('Main', true), await wallet('Spare', false)]
    const reset = () => world.call(handlers, sandboxContract.resetSandbox, { as, workspace })
    await reset()
    const transfer = (by: Database, from: WalletId, to: WalletId) =>
      executePosting(
        { database: by, clock: world.clock, ids: systemIds, types },
        {
          actor: as,
          parties: [
            { label: 'source', wallet: from, workspace, currency: 'USD', active: true, currencyField: 'currency' },
            { label: 'target', wallet: to, workspace, currency: 'USD', active: true, currencyField: 'currency' },
          ],
          entries: [
            { account: 'source', amount: -100n, flowType: 'TRANSFER' },
            { account: 'target', amount: 100n, flowType: 'TRANSFER' },
          ],
        },
      )
    const totals = () =>
      Promise.all([main, spare].map(async (id) => (await ledger.readBalance({ wallet: id, workspace }))?.total))
    return { main, spare, reset, transfer, totals }
  }
  const initialBalances = [money(1_000_000n, 'USD'), money(0n, 'USD')]

  test('sandbox.reset 200: initial balances after concurrent transfers and resets', async () => {
    const { main, spare, reset, transfer, totals } = await sandbox()
    const results = await runParallel(60, (index) => {
      if (index % 10 === 9) return refusalOf(reset())
      return refusalOf(index % 2 ? transfer(world.database, main, spare) : transfer(world.database, spare, main))
    })
    expect(new Set(results).difference(new Set(['none', 'WALLET.INSUFFICIENT_FUNDS'])).size).toBe(0)
    await reset()
    expect(await totals()).toEqual(initialBalances)
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('sandbox.reset 200: waits for a concurrent transfer and corrects it', async () => {
    const { main, spare, reset, transfer, totals } = await sandbox()
    let resetting: Promise<string> | undefined
    await world.database.transaction().execute(async (tx) => {
      await transfer(tx, main, spare)
      resetting = refusalOf(reset())
      // Long enough for the reset to wait for the lock.
      await pause(200)
    })
    expect(await resetting).toBe('none')
    expect(await totals()).toEqual(initialBalances)
  })

  const rechargeable = async () => {
    const as = await newAccount()
    const workspace = bizId<'workspace'>(await world.workspaceOf(as, 'Play', 'SANDBOX'))
    const wallet = systemIds.next<'wallet'>()
    await openWallet(workspace, wallet)
    const target = { label: 'target', wallet, workspace, currency: 'USD', active: true, currencyField: 'walletBizId' }
    const data = { amount: '1', currency: 'USD' }
    const createRecharge = () =>
      ledger.execute({
        actor: as,
        parties: [target],
        create: { workspace, type: 'RECHARGE', data, steps: [{ status: 'PENDING_PAYMENT' }] },
      })
    return { as, workspace, wallet, createRecharge }
  }

  test('sandbox.reset 200: each order results once under concurrent cancellation', async () => {
    const { as, workspace, createRecharge } = await rechargeable()
    const unpaid = { type: 'RECHARGE', workspace, expected: ['PENDING_PAYMENT'] } as const
    const cancel = ({ bizId: id }: { bizId: OrderId }) =>
      ledger.execute({ actor: as, parties: [], move: { ...unpaid, id, steps: [{ status: 'CANCELLED' }] } })
    for (let round = 0; round < rounds; round++) {
      const orders = await runParallel(parallel, createRecharge)
      const reset = refusalOf(world.call(handlers, sandboxContract.resetSandbox, { as, workspace }))
      const cancelled = await Promise.all(orders.map((order) => refusalOf(cancel(order))))
      expect(await reset).toBe('none')
      expect(new Set(cancelled).difference(new Set(['none', 'STATE.CONFLICT'])).size).toBe(0)
    }
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('sandbox.reset 200: locks orders before wallets, without deadlock', async () => {
    const { as, workspace, wallet, createRecharge } = await rechargeable()
    const { bizId: order } = await createRecharge()
    expect(await resetBetween({ as, workspace }, ['orders', order], ['ledger_accounts', wallet])).toBe('none')
  })

  test('sandbox.reset 200: locks all ledger accounts by id, without deadlock', async () => {
    const as = await newAccount()
    const workspace = bizId<'workspace'>(await world.workspaceOf(as, 'Play', 'SANDBOX'))
    const at = world.clock.now()
    const [clearingAccount, wallet] = [`00000000${systemIds.next<'wallet'>().slice(8)}`, systemIds.next<'wallet'>()]
    await sql`INSERT INTO ledger_accounts (biz_id, workspace_biz_id, kind, currency, created_at, updated_at)
      VALUES (${clearingAccount}, ${workspace}, 'CLEARING', 'USD', ${toDate(at)}, ${toDate(at)})`.execute(
      world.database,
    )
    await openWallet(workspace, wallet)
    const rows = [
      ['ledger_accounts', clearingAccount],
      ['ledger_accounts', wallet],
    ] as const
    expect(await resetBetween({ as, workspace }, ...rows)).toBe('none')
    expect(await ledger.verifyLedger()).toBeNull()
  })
})
