import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/domains/sandbox/contract.ts'
import { createSandbox, type Sandbox } from '../../../src/domains/sandbox/index.ts'
import { createTransfers } from '../../../src/domains/transfers/index.ts'
import { type AccountId, formatMoney, type HandlerTable, type WalletId } from '../../../src/kernel/index.ts'
import { executePosting } from '../../../src/ledger/commands/execute-store.ts'
import { Ledger, type LedgerPorts } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { createWorld, refusalOf, type World, words } from '../world.ts'

let world: World
let ports: LedgerPorts
let ledger: Ledger
let sandbox: Sandbox
let transfers: HandlerTable
let owner: AccountId
let cleaned: string[] = []

beforeAll(async () => {
  world = await createWorld()
  const { database, clock } = world
  ports = { database, clock, ids: systemIds }
  ledger = new Ledger(ports)
  await ledger.ensureHouseAccounts(['USD', 'JPY'])
  const clean = async (_tx: unknown, { workspaceId }: { workspaceId: string }) => {
    cleaned.push(workspaceId)
  }
  sandbox = createSandbox({ database, ledger, members: world.members.memberships, cleaners: [clean] })
  transfers = createTransfers({ ledger, words, approvalThreshold: { USD: '5000.00' }, fixedFee: {} }).handlers
  owner = await world.account('owner@example.test')
})
afterAll(() => world.close())

const open = async (kind: 'LIVE' | 'SANDBOX') => {
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

const balances = async ({ workspaceId: workspace }: Opened) => {
  const wallets = await ledger.listWallets(workspace)
  const told = wallets.map(async ({ bizId, walletName }) => {
    const balance = await ledger.readBalance({ wallet: bizId, workspace })
    return [walletName, balance && formatMoney(balance.total), balance && formatMoney(balance.held)]
  })
  return (await Promise.all(told)).sort()
}
const seedState = [
  ['Main', '10000.00', '0.00'],
  ['Spare', '0.00', '0.00'],
  ['Yen', '10000', '0'],
]
const nothing = [
  ['Main', '0.00', '0.00'],
  ['Spare', '0.00', '0.00'],
  ['Yen', '0', '0'],
]
const send = ({ workspaceId, main, spare }: Opened, amount: string) => {
  const handler = transfers.get('transfers.create')
  const body = { sourceWalletBizId: main, targetWalletBizId: spare, amount, currency: 'USD' }
  const idempotency = { requestId: systemIds.next(), bodyHash: 'x' }
  const facts = { operationId: 'transfers.create', portal: 'CONSUMER', requestId: 'r', clientIp: '', locale: 'en' }
  const caller = { accountId: owner }
  const workspace = { id: workspaceId }
  return handler?.({ ...facts, body, idempotency, caller, workspace, params: {}, query: {} } as never)
}
/** What a reset does with each table of workspace data. A table that a domain adds goes in here, and its cleaner into compose. */
const atReset = {
  emptied: ['daily_usage', 'exchange_quotes', 'exports', 'files', 'withdrawal_channels'],
  past: ['audit_log', 'idempotency', 'ledger_accounts', 'ledger_entries', 'ledger_holds', 'orders', 'wallets'],
  people: ['api_keys', 'invitations', 'former_membership_limits', 'memberships', 'roles'],
}
const reset = (workspace: string, as = owner) => world.call(sandbox.handlers, contract.resetSandbox, { as, workspace })

describe('a sandbox', () => {
  test('starts with play money in its default wallets', async () => {
    expect(await balances(await open('SANDBOX'))).toEqual(seedState)
  })

  test('goes back to its seed state: balances, holds, open orders', async () => {
    const opened = await open('SANDBOX')
    await send(opened, '1234.56')
    await send(opened, '6000.00')
    expect(await balances(opened)).toEqual([
      ['Main', '8765.44', '6000.00'],
      ['Spare', '1234.56', '0.00'],
      ['Yen', '10000', '0'],
    ])
    cleaned = []
    expect(await reset(opened.workspaceId)).toEqual({
      success: true,
      resetAt: new Date(world.clock.now()).toISOString(),
    })
    expect(await balances(opened)).toEqual(seedState)
    expect(cleaned).toEqual([opened.workspaceId])
    const orders = await world.database
      .selectFrom('orders')
      .select(['status', sql<string | null>`data->>'failureCode'`.as('failureCode')])
      .where('workspace_biz_id', '=', opened.workspaceId)
      .orderBy('created_at')
      .execute()
    expect(orders).toEqual([
      { status: 'COMPLETED', failureCode: null },
      { status: 'FAILED', failureCode: 'SANDBOX_RESET' },
    ])
    expect(await ledger.verifyLedger()).toBeNull()
    await send(opened, '10000.00')
    await reset(opened.workspaceId)
    expect(await balances(opened)).toEqual(seedState)
  })

  test('has a counterpart that is none of its wallets, and is told of nowhere', async () => {
    const { workspaceId: workspace } = await open('SANDBOX')
    const { biz_id: wallet } = await world.database
      .selectFrom('ledger_accounts')
      .select('biz_id')
      .where('workspace_biz_id', '=', workspace)
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

  test('brings back a frozen wallet too, and leaves a closed one as it is', async () => {
    const opened = await open('SANDBOX')
    const { workspaceId: workspace, main, spare } = opened
    await send(opened, '10.00')
    const move = (wallet: WalletId, from: 'ACTIVE' | 'FROZEN', to: 'FROZEN' | 'CLOSED') =>
      ledger.changeWalletStatus({ wallet, from, to, at: world.clock.now() })
    for (const wallet of [main, spare]) await move(wallet, 'ACTIVE', 'FROZEN')
    await reset(workspace)
    expect(await balances(opened)).toEqual(seedState)
    const all = { minor: -1_000_000n, currency: 'USD' }
    await ledger.fundWallet({ wallet: main, workspace, amount: all, actor: null })
    expect(await move(main, 'FROZEN', 'CLOSED')).toBe(true)
    await reset(workspace)
    expect(await balances(opened)).toEqual([['Main', '0.00', '0.00'], ...seedState.slice(1)])
  })

  test('knows every table that keeps something of a workspace', async () => {
    const { rows } = await sql<{ name: string }>`SELECT table_name AS name FROM information_schema.columns
      WHERE column_name = 'workspace_biz_id' AND table_schema = current_schema()`.execute(world.database)
    expect(rows.map(({ name }) => name).sort()).toEqual(Object.values(atReset).flat().sort())
  })

  test('ends a recharge that has run out as EXPIRED, which it was told as before', async () => {
    const { workspaceId, main } = await open('SANDBOX')
    const expiresAt = new Date(world.clock.now() + 1_000).toISOString()
    const figures = { amount: '1000', currency: 'USD', usageOf: 'BANK_USD', dailyMax: null }
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
    const over = await announce({ ...figures, expiresAt })
    const waiting = await announce({ ...figures, expiresAt: new Date(world.clock.now() + 1_001).toISOString() })
    world.clock.advance(1_000)
    await reset(workspaceId)
    const statusOf = async (id: typeof over) =>
      (await ledger.readOrder({ id, type: 'RECHARGE', workspace: workspaceId }))?.status
    expect([await statusOf(over), await statusOf(waiting)]).toEqual(['EXPIRED', 'CANCELLED'])
  })

  test('ends an order that is open although its hold has ended', async () => {
    const opened = await open('SANDBOX')
    const { workspaceId: workspace, main: wallet } = opened
    const source = { label: 'source', wallet, workspace, currency: 'USD', active: true, currencyField: 'walletBizId' }
    const { bizId: id } = await ledger.execute({
      actor: owner,
      parties: [source],
      create: { workspace, type: 'TRANSFER', data: {}, steps: [{ status: 'PENDING_APPROVAL' }] },
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
    expect(await balances(opened)).toEqual(seedState)
  })

  test('has counterparts of its own: its money, fees included, never touches an account of the house', async () => {
    const house = () =>
      world.database
        .selectFrom('ledger_accounts')
        .select(['kind', 'currency', 'balance', 'version'])
        .where('workspace_biz_id', 'is', null)
        .orderBy('biz_id')
        .execute()
    const before = await house()
    const opened = await open('SANDBOX')
    const [wallet, other] = [opened.main, opened.spare]
    const party = { workspace: opened.workspaceId, currency: 'USD', active: true, currencyField: 'currency' }
    const houses = (['LIQUIDITY', 'FEE', 'CLEARING'] as const).map((kind) => ({
      label: kind,
      house: kind,
      currency: 'USD',
      short: 'EXCHANGE.RATE_UNAVAILABLE' as const,
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
    expect(await balances(opened)).toEqual(seedState)
    expect(await house()).toEqual(before)
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('tells of its counterparts as of no wallet, now and then', async () => {
    const { workspaceId: workspace } = await open('SANDBOX')
    const counterparts = await world.database
      .selectFrom('ledger_accounts')
      .select('biz_id')
      .where('workspace_biz_id', '=', workspace)
      .where('kind', '!=', 'WALLET')
      .execute()
    expect(counterparts).not.toEqual([])
    for (const { biz_id: wallet } of counterparts) {
      expect(await ledger.readBalance({ wallet, workspace })).toBeUndefined()
      expect(await ledger.readBalanceAt({ wallet, workspace }, world.clock.now())).toBeUndefined()
    }
  })

  test('is emptied wholly or not at all', async () => {
    const opened = await open('SANDBOX')
    await send(opened, '100.00')
    const failing = createSandbox({
      database: world.database,
      ledger,
      members: world.members.memberships,
      cleaners: [
        async () => {
          throw new Error('a broken broom')
        },
      ],
    })
    const call = world.call(failing.handlers, contract.resetSandbox, { as: owner, workspace: opened.workspaceId })
    await expect(call).rejects.toThrow('a broken broom')
    expect(await balances(opened)).toEqual([
      ['Main', '9900.00', '0.00'],
      ['Spare', '100.00', '0.00'],
      ['Yen', '10000', '0'],
    ])
  })

  test('comes out right under parallel transfers and resets', async () => {
    const opened = await open('SANDBOX')
    const work = Array.from({ length: 20 }, (_, index) =>
      index % 5 === 4 ? reset(opened.workspaceId) : send(opened, '10.00'),
    )
    await Promise.all(work)
    await reset(opened.workspaceId)
    expect(await balances(opened)).toEqual(seedState)
    expect(await ledger.verifyLedger()).toBeNull()
  })
})

describe('a reset is refused', () => {
  test('in a LIVE workspace, which keeps everything', async () => {
    const opened = await open('LIVE')
    expect(await refusalOf(reset(opened.workspaceId))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await balances(opened)).toEqual(nothing)
  })

  test('to who is no owner, whatever their rights, and to strangers', async () => {
    const { workspaceId } = await open('SANDBOX')
    const member = await world.account('member@example.test')
    await world.join(workspaceId, member, ['sandbox:reset'])
    expect(await refusalOf(reset(workspaceId, member))).toBe('ACCESS.PERMISSION_DENIED')
    const stranger = await world.account('stranger@example.test')
    expect(await refusalOf(reset(workspaceId, stranger))).toBe('ACCESS.PERMISSION_DENIED')
  })
})

test('play money does not reach a LIVE workspace, nor real money a sandbox: neither is there for the other', async () => {
  const [play, real] = [await open('SANDBOX'), await open('LIVE')]
  const across = (from: Opened, to: Opened) => refusalOf(Promise.resolve(send({ ...from, spare: to.main }, '1.00')))
  expect(await across(play, real)).toBe('RESOURCE.NOT_FOUND')
  const amount = { minor: 100n, currency: 'USD' }
  await ledger.fundWallet({ wallet: real.main, workspace: real.workspaceId, amount, actor: null })
  expect(await across(real, play)).toBe('RESOURCE.NOT_FOUND')
  expect(await across(real, await open('LIVE'))).toBe('none')
  expect(await balances(play)).toEqual(seedState)
})
