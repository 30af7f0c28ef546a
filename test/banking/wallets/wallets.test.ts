import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTransfer, rejectTransfer } from '../../../src/banking/transfers/contract.ts'
import * as contract from '../../../src/banking/wallets/contract.ts'
import { createWallets } from '../../../src/banking/wallets/index.ts'
import { toIso, type WorkspaceId } from '../../../src/kernel/scalars.ts'

import { systemIds } from '../../../src/platform/runtime/system.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../../ledger/test-bank.ts'
import { refusalOf, transactionOf, walletMembers, words } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('wallets on $name', ({ database }) => {
  let journal: TestBank
  let a: TestWallet
  let b: TestWallet
  const caller = systemIds.next<'account'>()
  const members = walletMembers(database)
  beforeAll(async () => {
    journal = await createTestBank(database, { approvalThreshold: { USD: '50' } })
    a = await journal.wallet('USD', '100.00')
    b = await journal.wallet('USD')
  })

  const params = ({ id }: { id: string }) => ({ wallet_id: id })
  const balance = (wallet: TestWallet, query: Record<string, string> = {}, workspace = wallet.workspace) =>
    journal.call(contract.readBalance, { as: caller, workspace, params: params(wallet), query })
  const flows = (wallet: TestWallet, query: Record<string, string> = {}, workspace = wallet.workspace) =>
    journal.call(contract.listFlows, { as: caller, workspace, params: params(wallet), query })
  const transfer = (amount: string) =>
    journal.call(createTransfer, {
      as: caller,
      workspace: a.workspace,
      body: { sourceWalletBizId: a.id, targetWalletBizId: b.id, amount, currency: 'USD', remark: `pay ${amount}` },
    })

  test('wallets.list 200: a new workspace has a wallet per configured currency', async () => {
    const workspaceId = await journal.workspace()
    const { ledger, clock } = journal
    const ports = { database, transaction: transactionOf(database), ledger, members, clock, ids: systemIds, words }
    const wallets = createWallets({ ...ports, currencies: ['EUR', 'JPY', 'BHD'] })
    const at = clock.now()
    await database.transaction().execute((tx) => wallets.openWallets(tx, { workspaceId, at }))
    const list = await journal.call(contract.listWallets, { as: caller, workspace: workspaceId })
    expect(list.map((wallet) => [wallet.currency, wallet.currencyExponent, wallet.isDefault])).toEqual([
      ['EUR', 2, true],
      ['JPY', 0, true],
      ['BHD', 3, true],
    ])
    for (const currency of ['EUR', 'JPY', 'BHD'])
      expect(await ledger.readDefaultWallet({ workspace: workspaceId, currency })).toMatchObject({ currency })
    expect(list[0]).toMatchObject({ workspaceBizId: workspaceId, walletStatus: { code: 'ACTIVE', value: 10090101 } })
    expect(
      await balance({ id: list[1]?.bizId as TestWallet['id'], workspace: workspaceId, currency: 'JPY' }),
    ).toMatchObject({
      totalBalance: '0',
      version: 0,
    })
  })

  test('readDefaultWallet: undefined if no wallet of the currency is the default', async () => {
    const workspace = await journal.workspace()
    await journal.wallet('USD', undefined, workspace)
    expect(await journal.ledger.readDefaultWallet({ workspace, currency: 'USD' })).toBeUndefined()
    expect(await journal.ledger.readDefaultWallet({ workspace: a.workspace, currency: 'USD' })).toMatchObject({
      bizId: a.id,
    })
  })

  test('wallets.balance 200: includes holds, now and at past instants', async () => {
    const opened = journal.clock.now()
    journal.clock.advance(1_000)
    await transfer('10.00')
    const paid = journal.clock.now()
    journal.clock.advance(1_000)
    const { bizId: order_id } = await transfer('60.00')
    const held = journal.clock.now()
    journal.clock.advance(1_000)
    const figures = async (query: Record<string, string> = {}) => {
      const { totalBalance, heldBalance, availableBalance, version } = await balance(a, query)
      return [totalBalance, heldBalance, availableBalance, version]
    }
    expect(await figures()).toEqual(['90.00', '60.00', '30.00', 3])
    expect(await figures({ at: toIso(held) })).toEqual(['90.00', '60.00', '30.00', 3])
    expect(await figures({ at: toIso(paid) })).toEqual(['90.00', '0.00', '90.00', 2])
    expect(await figures({ at: toIso(opened) })).toEqual(['100.00', '0.00', '100.00', 1])
    expect(await figures({ at: '2001-01-01T00:00:00Z' })).toEqual(['0.00', '0.00', '0.00', 0])
    expect(await figures({ at: '2101-01-01T00:00:00Z' })).toEqual(['90.00', '60.00', '30.00', 3])
    expect(await balance(b, { at: toIso(held) })).toMatchObject({
      totalBalance: '10.00',
      heldBalance: '0.00',
      version: 1,
    })
    expect((await balance(a, { at: toIso(paid) })).asOf).toBe(toIso(paid))
    await journal.call(rejectTransfer, {
      as: systemIds.next<'account'>(),
      params: { order_id },
      body: { reason: 'no' },
    })
    const freed = journal.clock.now()
    journal.clock.advance(1_000)
    expect(await figures({ at: toIso(held) })).toEqual(['90.00', '60.00', '30.00', 3])
    for (const query of [{}, { at: toIso(freed) }]) expect(await figures(query)).toEqual(['90.00', '0.00', '90.00', 4])
    expect((await balance(a)).asOf).toBe(toIso(journal.clock.now()))
  })

  test('wallets.flows 200: each flow with its balance, filtered and sorted', async () => {
    const page = await flows(a)
    expect(page.pagination.totalRecords).toBe(2)
    expect(page.items).toMatchObject([
      {
        sequence: 2,
        flowType: { code: 'TRANSFER' },
        direction: { code: 'OUT' },
        amount: '10.00',
        currency: 'USD',
        balanceAfter: '90.00',
        orderType: 'TRANSFER',
        description: 'pay 10.00',
      },
      {
        sequence: 1,
        flowType: { code: 'OPENING' },
        direction: { code: 'IN' },
        balanceAfter: '100.00',
        orderType: null,
      },
    ])
    const sequences = async (query: Record<string, string>) =>
      (await flows(a, query)).items.map((flow) => flow.sequence)
    expect(await sequences({ sortOrder: 'asc' })).toEqual([1, 2])
    expect(await sequences({ direction: 'IN' })).toEqual([1])
    expect(await sequences({ direction: 'OUT' })).toEqual([2])
    expect(await sequences({ flowType: 'TRANSFER' })).toEqual([2])
    expect(await sequences({ pageSize: '1', currentPage: '2', sortBy: 'createdAt' })).toEqual([1])
    const second = page.items[0]?.createdAt ?? ''
    expect(await sequences({ startTime: second })).toEqual([2])
    expect(await sequences({ endTime: second, startTime: second })).toEqual([2])
  })

  test('wallets 404 RESOURCE.NOT_FOUND: unknown, foreign or malformed wallet', async () => {
    const foreign = b.workspace
    const read = (id: string, workspace: WorkspaceId) =>
      journal.call(contract.readWallet, { as: caller, workspace, params: { wallet_id: id } })
    for (const id of [a.id, systemIds.next<'wallet'>(), 'nothing', `${a.id}'--`]) {
      const wallet = { ...a, id: id as TestWallet['id'] }
      expect(await refusalOf(read(id, foreign))).toBe('RESOURCE.NOT_FOUND')
      expect(await refusalOf(balance(wallet, {}, foreign))).toBe('RESOURCE.NOT_FOUND')
      expect(await refusalOf(balance(wallet, { at: '2026-01-01T00:00:00Z' }, foreign))).toBe('RESOURCE.NOT_FOUND')
      expect(await refusalOf(flows(wallet, {}, foreign))).toBe('RESOURCE.NOT_FOUND')
    }
    expect((await read(a.id, a.workspace)).bizId).toBe(a.id)
    const all = { wallet: a.id, sortOrder: 'asc', currentPage: 1, pageSize: 10 } as const
    expect((await journal.ledger.listFlows({ ...all, workspace: foreign })).items).toEqual([])
  })

  test('wallets.freeze and wallets.unfreeze 200: audited; 409 STATE.CONFLICT if repeated', async () => {
    const freeze = (operation: typeof contract.freezeWallet | typeof contract.unfreezeWallet, id: string = b.id) =>
      journal.call(operation, { as: caller, params: { wallet_id: id }, body: { reason: 'a check' } })
    journal.clock.advance(1_000)
    const at = toIso(journal.clock.now())
    expect(await freeze(contract.freezeWallet)).toMatchObject({ walletStatus: { code: 'FROZEN' }, updatedAt: at })
    expect(await refusalOf(freeze(contract.freezeWallet))).toBe('STATE.CONFLICT')
    expect(await refusalOf(transfer('1.00'))).toBe('WALLET.NOT_ACTIVE')
    expect((await freeze(contract.unfreezeWallet)).walletStatus.code).toBe('ACTIVE')
    expect(await refusalOf(freeze(contract.unfreezeWallet))).toBe('STATE.CONFLICT')
    expect(await refusalOf(freeze(contract.freezeWallet, systemIds.next()))).toBe('RESOURCE.NOT_FOUND')
    const entries = await database.selectFrom('audit_log').where('targetBizId', '=', b.id).selectAll().execute()
    expect(entries.map((row) => [row.action, row.detail])).toEqual([
      ['wallets.freeze', { reason: 'a check' }],
      ['wallets.unfreeze', { reason: 'a check' }],
    ])
  })

  type Change = typeof contract.freezeWallet | typeof contract.unfreezeWallet | typeof contract.closeWallet

  test('wallets.close 200: only a frozen, empty wallet, permanently', async () => {
    const home = await journal.workspace()
    const [funded, empty] = [await journal.wallet('USD', '5.00', home), await journal.wallet('USD', undefined, home)]
    const change = (operation: Change, { id }: TestWallet) =>
      journal.call(operation, { as: caller, params: { wallet_id: id }, body: { reason: 'moved away' } })
    const refused = (operation: Change, wallet: TestWallet) => refusalOf(change(operation, wallet))
    expect(await refused(contract.closeWallet, empty)).toBe('STATE.CONFLICT')
    for (const wallet of [funded, empty]) await change(contract.freezeWallet, wallet)
    expect(await refused(contract.closeWallet, funded)).toBe('STATE.CONFLICT')
    expect((await change(contract.closeWallet, empty)).walletStatus.code).toBe('CLOSED')
    for (const operation of [contract.closeWallet, contract.unfreezeWallet, contract.freezeWallet])
      expect(await refused(operation, empty)).toBe('STATE.CONFLICT')
    const entries = await database.selectFrom('audit_log').where('targetBizId', '=', empty.id).selectAll().execute()
    expect(entries.map((row) => row.action)).toEqual(['wallets.freeze', 'wallets.close'])
  })
})
