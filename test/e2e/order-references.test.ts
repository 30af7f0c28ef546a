import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { signIn } from '../harness/sign-in.ts'
import { codeOf, invalid } from './money-world.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const { mainUsd, savingsUsd } = developmentIds

interface Found {
  bizId: string
  orderNo: string
}

describe('orders by what people have in hand', () => {
  let world: WithdrawalsWorld
  beforeAll(async () => {
    world = await startWithdrawalsWorld()
  })
  afterAll(() => world?.portico.stop())

  const transfer = (clientReference: string): Promise<Found> => {
    const wallets = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd }
    const body = { ...wallets, amount: '1.00', currency: 'USD', clientReference }
    return world.data(world.web('POST', '/transfer/command/create', body))
  }
  const query = (filters: Record<string, string>) => `?${new URLSearchParams(filters)}`
  const idsIn = async (list: Promise<{ items: Found[] }>) => (await list).items.map(({ bizId }) => bizId)
  const mine = (path: string, filters: Record<string, string>) =>
    idsIn(world.data(world.web('GET', `${path}${query(filters)}`)))
  const operators = (path: string, filters: Record<string, string>) =>
    idsIn(world.data(world.system('GET', `${path}${query(filters)}`)))

  test('transfers.list 200: finds a transfer by orderNo and by clientReference, each the whole text', async () => {
    const [first, second] = [await transfer('INV-2026-001'), await transfer('INV-2026-002')]
    const list = '/transfer/query/orders'
    expect(await mine(list, { orderNo: first.orderNo })).toEqual([first.bizId])
    expect(await mine(list, { orderNo: ` ${second.orderNo.toLowerCase()} ` })).toEqual([second.bizId])
    expect(await mine(list, { clientReference: ' INV-2026-001 ' })).toEqual([first.bizId])
    expect(await mine(list, { clientReference: 'INV-2026-00' })).toEqual([])
    expect(await mine(`${list}/wallet/${savingsUsd}`, { clientReference: 'INV-2026-002' })).toEqual([second.bizId])
    expect(await mine(`${list}/wallet/${savingsUsd}`, { orderNo: first.orderNo })).toEqual([first.bizId])
  })

  test('recharges and withdrawals, list and listAll 200: by orderNo and externalReference', async () => {
    const { data, web, system, createApproved } = world
    const recharge = await data(
      web('POST', '/recharges', { walletBizId: mainUsd, channelCode: 'CARD_USD', amount: '10.00' }),
    )
    await data(system('POST', `/recharges/${recharge.bizId}/confirm`, { externalReference: 'SEPA 4711' }))
    const { bizId, orderNo } = await createApproved()
    await data(system('POST', `/withdrawals/${bizId}/complete`, { externalReference: 'PAYOUT-1' }))
    for (const find of [mine, operators]) {
      expect(await find('/recharges', { externalReference: 'SEPA 4711' })).toEqual([recharge.bizId])
      expect(await find('/recharges', { orderNo: recharge.orderNo })).toEqual([recharge.bizId])
      expect(await find('/recharges', { orderNo })).toEqual([])
      expect(await find('/withdrawals', { externalReference: 'PAYOUT-1' })).toEqual([bizId])
      expect(await find('/withdrawals', { orderNo })).toEqual([bizId])
      expect(await find('/withdrawals', { orderNo, externalReference: 'SEPA 4711' })).toEqual([])
    }
  })

  test('transfers.listAll 200: an operator finds a completed transfer; a member cannot use this list', async () => {
    const { bizId, orderNo } = await transfer('INV-OPERATOR')
    expect(await operators('/transfers', { clientReference: 'INV-OPERATOR' })).toEqual([bizId])
    expect(await operators('/transfers', { orderNo, transferStatus: 'COMPLETED' })).toEqual([bizId])
    expect((await world.web('GET', `/transfers${query({ orderNo })}`)).status).toBe(404)
  })

  test('transfers.readAny 200, 404: an operator reads a transfer of any workspace by its id; a member cannot', async () => {
    const { bizId, orderNo } = await transfer('INV-BY-ID')
    const read = await world.data(world.system('GET', `/transfers/${bizId}`))
    expect(read).toMatchObject({ bizId, orderNo, clientReference: 'INV-BY-ID', workspaceStatus: { code: 'ACTIVE' } })
    const notFound = [404, 'RESOURCE.NOT_FOUND']
    for (const id of [mainUsd, orderNo]) expect(codeOf(await world.system('GET', `/transfers/${id}`))).toEqual(notFound)
    expect((await world.web('GET', `/transfers/${bizId}`)).status).toBe(404)
    expect(await operators('/transfers/pending', { orderNo })).toEqual([])
  })

  test('exchanges.list, listAll 200: find an exchange by orderNo; it has no client reference', async () => {
    const { data, web, system } = world
    const pair = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '10.00', fixedSide: 'SOURCE' }
    const { quoteBizId } = await data(web('POST', '/exchanges/quote', pair))
    const { bizId, orderNo } = await data(web('POST', '/exchanges', { quoteBizId }))
    for (const find of [mine, operators]) {
      expect(await find('/exchanges', { orderNo, sourceCurrency: 'USD', targetCurrency: 'EUR' })).toEqual([bizId])
      expect(await find('/exchanges', { orderNo, sourceCurrency: 'EUR' })).toEqual([])
      expect(await find('/exchanges', { orderNo, exchangeStatus: 'PROCESSING' })).toEqual([])
    }
    const { items } = await data(system('GET', `/exchanges${query({ orderNo })}`))
    const [{ workspaceBizId, ...exchange }] = items
    expect(exchange).toMatchObject({ workspaceKind: { code: 'LIVE' }, creatorStatus: { code: 'ACTIVE' } })
    expect(await operators('/exchanges', { orderNo, workspaceId: workspaceBizId, workspaceKind: 'LIVE' })).toEqual([
      bizId,
    ])
    expect(await operators('/exchanges', { orderNo, workspaceId: bizId })).toEqual([])
    for (const call of [web, system]) expect(codeOf(await call('GET', '/exchanges?clientReference=x'))).toEqual(invalid)
    expect((await data(system('GET', '/exchanges?before=start'))).nextCursor).toBe(null)
  })

  test('operators.listAuditLog 200: by the references of an order, and by requestId', async () => {
    const { data, web, system } = world
    const requestId = 'support-case-7'
    const wallets = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd }
    const body = { ...wallets, amount: '1.00', currency: 'USD', clientReference: 'INV-AUDIT' }
    const { bizId, orderNo } = await data(web('POST', '/transfer/command/create', body, { id: requestId }))
    const confirmed = await data(
      web('POST', '/recharges', { walletBizId: mainUsd, channelCode: 'CARD_USD', amount: '10.00' }),
    )
    await data(system('POST', `/recharges/${confirmed.bizId}/confirm`, { externalReference: 'AUDIT-1' }))
    const find = async (filters: Record<string, string>) => {
      const { items } = await data(system('GET', `/audit-log${query({ sortOrder: 'asc', ...filters })}`))
      return items.map((entry: { action: string; targetBizId: string }) => [entry.action, entry.targetBizId])
    }
    const created = [['transfers.create', bizId]]
    expect(await find({ orderNo })).toEqual(created)
    expect(await find({ clientReference: 'INV-AUDIT' })).toEqual(created)
    expect(await find({ requestId })).toEqual(created)
    expect(await find({ externalReference: 'AUDIT-1' })).toEqual([
      ['recharges.create', confirmed.bizId],
      ['recharges.confirm', confirmed.bizId],
    ])
    expect(await find({ externalReference: 'AUDIT-1', action: 'recharges.confirm' })).toHaveLength(1)
    expect(await find({ orderNo, externalReference: 'AUDIT-1' })).toEqual([])
    expect(await find({ orderNo: 'TRF-20260101-000000000000' })).toEqual([])
  })

  test('operators.listAuditLog 200, 400: by the address of the client, in any spelling', async () => {
    const { accessToken } = await signIn(world.portico)
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '1.00', currency: 'USD' }
    const sendFrom = async (address: string, requestId: string) => {
      const headers = { 'x-request-id': requestId, 'cf-connecting-ip': address }
      const call = { token: accessToken, workspace: developmentIds.workspace, body, headers }
      const sent = await world.portico.call('POST', '/web/v1/consumer/transfer/command/create', call)
      expect(sent.status, sent.text).toBe(200)
    }
    await sendFrom('2001:DB8:0::7', 'from-ipv6')
    await sendFrom('198.51.100.9', 'from-ipv4')
    const find = async (clientIp: string) => {
      const { items } = await world.data(world.system('GET', `/audit-log${query({ clientIp })}`))
      return items.map((entry: { requestId: string; clientIp: string }) => [entry.requestId, entry.clientIp])
    }
    const byIpv6 = [['from-ipv6', '2001:db8::7']]
    for (const address of ['2001:db8::7', '2001:DB8:0:0::7']) expect(await find(address)).toEqual(byIpv6)
    const byIpv4 = [['from-ipv4', '198.51.100.9']]
    for (const address of ['198.51.100.9', '::ffff:198.51.100.9']) expect(await find(address)).toEqual(byIpv4)
    expect(await find('198.51.100.90')).toEqual([])
    for (const address of ['198.51.100', '198.51.100.0/24', '0198.51.100.9', 'fe80::1%eth0', 'localhost'])
      expect(codeOf(await world.system('GET', `/audit-log${query({ clientIp: address })}`)), address).toEqual(invalid)
  })

  test('exports.create 200: takes the filters of the list', async () => {
    const { data, web } = world
    const { bizId } = await transfer('INV-2026-009')
    const body = { exportType: 'TRANSFERS', format: 'JSONL', filters: { clientReference: 'INV-2026-009' } }
    const file = await data(web('POST', '/exports', body))
    const read = () => data(web('GET', `/exports/${file.bizId}`))
    await expect.poll(async () => (await read()).exportStatus.code, { timeout: 60_000 }).toBe('COMPLETED')
    expect((await read()).rowCount).toBe(1)
    const { text } = await web('GET', `/exports/${file.bizId}/download`)
    expect(text).toContain(bizId)
  })
})
