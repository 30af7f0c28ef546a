import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/sandbox/contract.ts'
import { createSandbox, type Sandbox } from '../../../src/banking/sandbox/index.ts'
import { createTransfers } from '../../../src/banking/transfers/index.ts'
import { bankingCatalogue } from '../../../src/contract/index.ts'
import { collectLedgerTypes } from '../../../src/contract/ledger/ledger-types.ts'
import {
  type AccountId,
  formatMoney,
  type HandlerTable,
  type OrderId,
  parseMoney,
  type WalletId,
} from '../../../src/kernel/index.ts'
import { executePosting } from '../../../src/ledger/commands/execute-store.ts'
import * as ledgerContract from '../../../src/ledger/contract.ts'
import { createLedger, type Ledger, type LedgerPorts } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import {
  callerOf,
  createWorld,
  outgoingOf,
  refusalOf,
  transactionOf,
  unlimitedOutgoing,
  unlimitedPayouts,
  type World,
  words,
} from '../world.ts'

let world: World
let ports: LedgerPorts
let ledger: Ledger
let sandbox: Sandbox
let transfers: HandlerTable
let owner: AccountId
let cleanedWorkspaces: string[] = []

beforeAll(async () => {
  world = await createWorld()
  const { database, clock } = world
  ports = { database, clock, ids: systemIds, outgoing: unlimitedOutgoing, types: bankingCatalogue.ledgerTypes }
  ledger = createLedger(ports)
  await ledger.ensureHouseAccounts(['USD', 'JPY'])
  const clean = async (_tx: unknown, { workspaceId }: { workspaceId: string }) => {
    cleanedWorkspaces.push(workspaceId)
  }
  sandbox = createSandbox({
    database,
    transaction: transactionOf(database),
    ledger,
    members: world.members.memberships,
    cleaners: [clean],
  })
  transfers = createTransfers({
    ledger,
    words,
    approvalThreshold: { USD: '5000.00' },
    fixedFee: {},
    approvalLifeMs: 60_000,
    ...unlimitedPayouts,
  }).handlers
  owner = await world.account('owner@example.test')
})
afterAll(() => world.close())

async function open(kind: 'LIVE' | 'SANDBOX') {
  const at = world.clock.now()
  const opening = { ownerId: owner, name: kind, kind, joinSource: 'CREATION', at } as const
  return world.database.transaction().execute(async (tx) => {
    const { workspaceId } = await world.workspaces.open(tx, opening)
    const wallet = async (walletName: string, currency: string, isDefault: boolean): Promise<WalletId> => {
      const bizId = systemIds.next<'wallet'>()
      await ledger.within(tx).openWallet({ bizId, workspaceBizId: workspaceId, walletName, currency, isDefault, at })
      return bizId
    }
    const main = await wallet('Main', 'USD', true)
    const spare = await wallet('Spare', 'USD', false)
    await wallet('Yen', 'JPY', true)
    if (kind === 'SANDBOX') await sandbox.seed(tx, workspaceId)
    return { workspaceId, main, spare }
  })
}
type Opened = Awaited<ReturnType<typeof open>>

async function balances({ workspaceId: workspace }: Opened) {
  const wallets = await ledger.listWallets(workspace)
  const rows = wallets.map(async ({ bizId, walletName }) => {
    const balance = await ledger.readBalance({ wallet: bizId, workspace })
    return [walletName, balance && formatMoney(balance.total), balance && formatMoney(balance.held)]
  })
  return (await Promise.all(rows)).sort()
}
const initialBalances = [
  ['Main', '10000.00', '0.00'],
  ['Spare', '0.00', '0.00'],
  ['Yen', '10000', '0'],
]
const zeroBalances = [
  ['Main', '0.00', '0.00'],
  ['Spare', '0.00', '0.00'],
  ['Yen', '0', '0'],
]
function send({ workspaceId, main, spare }: Opened, amount: string) {
  const handler = transfers.get('transfers.create')
  const wallets = { sourceWalletBizId: main, targetWalletBizId: spare }
  const body = { ...wallets, amount: parseMoney(amount, 'USD'), currency: 'USD' }
  const idempotency = { key: systemIds.next(), bodyHash: 'x' }
  const facts = { operationId: 'transfers.create', portal: 'CONSUMER', requestId: 'r', clientIp: '', locale: 'en' }
  const caller = { accountId: owner }
  const workspace = { id: workspaceId }
  return handler?.({ ...facts, body, idempotency, caller, workspace, params: {}, query: {} } as never)
}
/** Add each new table with workspace data, and delete its rows in `onSandboxReset`. */
const tablesByTreatment = {
  deleted: [
    ...['exchange_quotes', 'exports', 'files', 'ledger_usage', 'recharge_proofs', 'recharge_references'],
    'recharge_reference_allowances',
    'withdrawal_channels',
  ],
  history: [
    ...['audit_log', 'idempotency', 'ledger_accounts', 'ledger_entries', 'ledger_holds', 'orders', 'service_commands'],
    ...['command_places', 'event_workspace_heads', 'events', 'wallets'],
  ],
  members: [
    ...['api_keys', 'webhooks', 'webhook_deliveries'],
    'invitations',
    'former_membership_limits',
    ...['former_memberships', 'membership_grants', 'role_grants', 'suspicions'],
    'memberships',
    'operator_proposals',
    'roles',
    'session_tickets',
  ],
}
function reset(workspace: string, as = owner) {
  return world.call(sandbox.handlers, contract.resetSandbox, { as, workspace })
}

describe('sandbox', () => {
  test('workspaces.create 200: a sandbox has funds in its default wallets', async () => {
    expect(await balances(await open('SANDBOX'))).toEqual(initialBalances)
  })

  test('sandbox.reset 200: restores balances, releases holds, ends open orders', async () => {
    const opened = await open('SANDBOX')
    await send(opened, '1234.56')
    await send(opened, '6000.00')
    expect(await balances(opened)).toEqual([
      ['Main', '8765.44', '6000.00'],
      ['Spare', '1234.56', '0.00'],
      ['Yen', '10000', '0'],
    ])
    cleanedWorkspaces = []
    expect(await reset(opened.workspaceId)).toEqual({
      success: true,
      resetAt: new Date(world.clock.now()).toISOString(),
    })
    expect(await balances(opened)).toEqual(initialBalances)
    expect(cleanedWorkspaces).toEqual([opened.workspaceId])
    const orders = await world.database
      .selectFrom('orders')
      .select(['status', sql<string | null>`data->>'failureCode'`.as('failureCode')])
      .where('workspaceBizId', '=', opened.workspaceId)
      .orderBy('createdAt')
      .execute()
    expect(orders).toEqual([
      { status: 'COMPLETED', failureCode: null },
      { status: 'FAILED', failureCode: 'SANDBOX_RESET' },
    ])
    expect(await ledger.verifyLedger()).toBeNull()
    await send(opened, '10000.00')
    await reset(opened.workspaceId)
    expect(await balances(opened)).toEqual(initialBalances)
  })

  test('ledger: the clearing account of a sandbox is not a wallet', async () => {
    const { workspaceId: workspace } = await open('SANDBOX')
    const { bizId: wallet } = await world.database
      .selectFrom('ledger_accounts')
      .select('bizId')
      .where('workspaceBizId', '=', workspace)
      .where('kind', '=', 'CLEARING')
      .where('currency', '=', 'USD')
      .executeTakeFirstOrThrow()
    const at = world.clock.now()
    expect(await ledger.readWallet({ wallet, workspace })).toBeUndefined()
    expect(await ledger.readBalance({ wallet, workspace })).toBeUndefined()
    expect(await ledger.readBalanceAt({ wallet, workspace }, at)).toBeUndefined()
    expect(await ledger.changeWalletStatus({ wallet, from: 'ACTIVE', to: 'FROZEN', at })).toBe(false)
    expect((await ledger.listWallets(workspace)).map(({ bizId }) => bizId)).not.toContain(wallet)
  })

  test('sandbox.reset 200: cancels open orders of a type that a domain declares, and leaves ended ones', async () => {
    const ledgerTypes = { orders: { RENTAL: { prefix: 'RNT', open: ['BOOKED'], final: ['RETURNED', 'CANCELLED'] } } }
    const types = collectLedgerTypes({ ledger: ledgerContract, rentals: { ledgerTypes } })
    const rentals = createLedger({ ...ports, types })
    await rentals.registerTypes()
    const { workspaceId: workspace, main: wallet } = await open('SANDBOX')
    const party = { label: 'source', wallet, workspace, currency: 'USD', active: true, currencyField: 'currency' }
    // This program's types lack the order type.
    const type = 'RENTAL' as ledgerContract.OrderType
    const book = (status: string) =>
      rentals.execute({
        actor: owner,
        parties: [party],
        create: { workspace, type, data: {}, steps: [{ status }] },
        ...(status === 'BOOKED' && { holds: [{ account: 'source', amount: 500n }] }),
      })
    const [booked, returned] = [await book('BOOKED'), await book('RETURNED')]
    await reset(workspace)
    const statusOf = async ({ bizId: id }: { bizId: OrderId }) =>
      (await rentals.readOrder({ id, type, workspace })).status
    expect([await statusOf(booked), await statusOf(returned)]).toEqual(['CANCELLED', 'RETURNED'])
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('sandbox.reset 200: restores frozen wallets, leaves closed ones unchanged', async () => {
    const opened = await open('SANDBOX')
    const { workspaceId: workspace, main, spare } = opened
    await send(opened, '10.00')
    const setStatus = (wallet: WalletId, from: 'ACTIVE' | 'FROZEN', to: 'FROZEN' | 'CLOSED') =>
      ledger.changeWalletStatus({ wallet, from, to, at: world.clock.now() })
    for (const wallet of [main, spare]) await setStatus(wallet, 'ACTIVE', 'FROZEN')
    await reset(workspace)
    expect(await balances(opened)).toEqual(initialBalances)
    const all = { minor: -1_000_000n, currency: 'USD' }
    await ledger.fundWallet({ wallet: main, workspace, amount: all, actor: null })
    expect(await setStatus(main, 'FROZEN', 'CLOSED')).toBe(true)
    await reset(workspace)
    expect(await balances(opened)).toEqual([['Main', '0.00', '0.00'], ...initialBalances.slice(1)])
  })

  test('sandbox.reset: every table with workspace data has a treatment', async () => {
    const { rows } = await sql<{ name: string }>`SELECT relname name FROM pg_class JOIN pg_attribute ON attrelid = oid
      WHERE attname = 'workspace_biz_id' AND relkind IN ('r', 'p') AND NOT relispartition`.execute(world.database)
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.values(tablesByTreatment).flat().sort())
  })

  test('sandbox.reset 200: a recharge past its expiry is EXPIRED', async () => {
    const { workspaceId, main } = await open('SANDBOX')
    const expiresAt = new Date(world.clock.now() + 1_000).toISOString()
    const figures = { amount: '1000', currency: 'USD' }
    const announce = async (data: Record<string, string | null>) =>
      (
        await ledger.execute({
          actor: owner,
          parties: [
            { label: 'target', wallet: main, workspace: workspaceId, currency: 'USD', active: true, currencyField: '' },
          ],
          create: { workspace: workspaceId, type: 'RECHARGE', data, steps: [{ status: 'PENDING_PAYMENT' }] },
        })
      ).bizId
    const expired = await announce({ ...figures, expiresAt })
    const pending = await announce({ ...figures, expiresAt: new Date(world.clock.now() + 1_001).toISOString() })
    world.clock.advance(1_000)
    await reset(workspaceId)
    const statusOf = async (id: typeof expired) =>
      (await ledger.readOrder({ id, type: 'RECHARGE', workspace: workspaceId }))?.status
    expect([await statusOf(expired), await statusOf(pending)]).toEqual(['EXPIRED', 'CANCELLED'])
  })

  test('sandbox.reset 200: ends an open order whose hold has ended', async () => {
    const opened = await open('SANDBOX')
    const { workspaceId: workspace, main: wallet } = opened
    const source = { label: 'source', wallet, workspace, currency: 'USD', active: true, currencyField: 'walletBizId' }
    const { bizId: id } = await ledger.execute({
      actor: owner,
      parties: [source],
      create: {
        ...{ workspace, type: 'TRANSFER', data: {}, steps: [{ status: 'PENDING_APPROVAL' }] },
        outgoing: outgoingOf(100n, callerOf(owner), world.clock.now()),
      },
      holds: [{ account: 'source', amount: 100n }],
    })
    const order = { id, type: 'TRANSFER', workspace } as const
    const steps = [{ status: 'PROCESSING' }] as const
    await ledger.execute({
      actor: owner,
      parties: [],
      move: { ...order, expected: ['PENDING_APPROVAL'], steps, endHolds: 'RELEASED' },
    })
    await reset(workspace)
    expect((await ledger.readOrder(order))?.status).toBe('FAILED')
    expect(await balances(opened)).toEqual(initialBalances)
  })

  test('ledger: sandbox entries, including fees, never change house accounts', async () => {
    const house = () =>
      world.database
        .selectFrom('ledger_accounts')
        .select(['kind', 'currency', 'balance', 'version'])
        .where('workspaceBizId', 'is', null)
        .orderBy('bizId')
        .execute()
    const before = await house()
    const opened = await open('SANDBOX')
    const [wallet, other] = [opened.main, opened.spare]
    const party = { workspace: opened.workspaceId, currency: 'USD', active: true, currencyField: 'currency' }
    const houses = (['LIQUIDITY', 'FEE', 'CLEARING'] as const).map((kind) => ({
      label: kind,
      house: kind,
      currency: 'USD',
      insufficientFunds: 'EXCHANGE.RATE_UNAVAILABLE' as const,
    }))
    await executePosting(ports, {
      actor: null,
      parties: [...houses, { ...party, label: 'wallet', wallet }, { ...party, label: 'other', wallet: other }],
      entries: [
        { account: 'LIQUIDITY', amount: -5_000_000n, flowType: 'EXCHANGE' },
        { account: 'wallet', amount: 5_000_000n, flowType: 'EXCHANGE' },
        { account: 'other', amount: 4_000n, flowType: 'RECHARGE' },
        { account: 'CLEARING', amount: -4_100n, flowType: 'RECHARGE' },
        { account: 'FEE', amount: 100n, flowType: 'FEE' },
      ],
    })
    await reset(opened.workspaceId)
    expect(await balances(opened)).toEqual(initialBalances)
    expect(await house()).toEqual(before)
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('ledger: no balance for the other accounts of a sandbox', async () => {
    const { workspaceId: workspace } = await open('SANDBOX')
    const accounts = await world.database
      .selectFrom('ledger_accounts')
      .select('bizId')
      .where('workspaceBizId', '=', workspace)
      .where('kind', '!=', 'WALLET')
      .execute()
    expect(accounts).not.toEqual([])
    for (const { bizId: wallet } of accounts) {
      expect(await ledger.readBalance({ wallet, workspace })).toBeUndefined()
      expect(await ledger.readBalanceAt({ wallet, workspace }, world.clock.now())).toBeUndefined()
    }
  })

  test('sandbox.reset: rolls back if a cleaner fails', async () => {
    const opened = await open('SANDBOX')
    await send(opened, '100.00')
    const failing = createSandbox({
      database: world.database,
      transaction: transactionOf(world.database),
      ledger,
      members: world.members.memberships,
      cleaners: [
        async () => {
          throw new Error('cleaner failed')
        },
      ],
    })
    const call = world.call(failing.handlers, contract.resetSandbox, { as: owner, workspace: opened.workspaceId })
    await expect(call).rejects.toThrow('cleaner failed')
    expect(await balances(opened)).toEqual([
      ['Main', '9900.00', '0.00'],
      ['Spare', '100.00', '0.00'],
      ['Yen', '10000', '0'],
    ])
  })

  test('sandbox.reset 200: concurrent transfers and resets', async () => {
    const opened = await open('SANDBOX')
    const work = Array.from({ length: 20 }, (_, index) =>
      index % 5 === 4 ? reset(opened.workspaceId) : send(opened, '10.00'),
    )
    await Promise.all(work)
    await reset(opened.workspaceId)
    expect(await balances(opened)).toEqual(initialBalances)
    expect(await ledger.verifyLedger()).toBeNull()
  })
})

describe('sandbox.reset 403 ACCESS.PERMISSION_DENIED', () => {
  test('LIVE workspace, which remains unchanged', async () => {
    const opened = await open('LIVE')
    expect(await refusalOf(reset(opened.workspaceId))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await balances(opened)).toEqual(zeroBalances)
  })

  test('caller is not an owner', async () => {
    const { workspaceId } = await open('SANDBOX')
    const member = await world.account('member@example.test')
    await world.join(workspaceId, member, ['sandbox:reset'])
    expect(await refusalOf(reset(workspaceId, member))).toBe('ACCESS.PERMISSION_DENIED')
    const stranger = await world.account('stranger@example.test')
    expect(await refusalOf(reset(workspaceId, stranger))).toBe('ACCESS.PERMISSION_DENIED')
  })
})

test('transfers.create 404 RESOURCE.NOT_FOUND: between a sandbox and a LIVE workspace', async () => {
  const [play, real] = [await open('SANDBOX'), await open('LIVE')]
  const across = (from: Opened, to: Opened) => refusalOf(Promise.resolve(send({ ...from, spare: to.main }, '1.00')))
  expect(await across(play, real)).toBe('RESOURCE.NOT_FOUND')
  const amount = { minor: 100n, currency: 'USD' }
  await ledger.fundWallet({ wallet: real.main, workspace: real.workspaceId, amount, actor: null })
  expect(await across(real, play)).toBe('RESOURCE.NOT_FOUND')
  expect(await across(real, await open('LIVE'))).toBe('none')
  expect(await balances(play)).toEqual(initialBalances)
})
