import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../src/contract/index.ts'
import { chains } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { unknownId } from '../harness/catalogue.ts'
import { startWithdrawalsWorld, type WithdrawalsWorld } from './withdrawals-world.ts'

const { workspace, mainUsd, savingsUsd, mainEur } = developmentIds

type Item = Record<string, unknown>

const conventions = ['currentPage', 'pageSize', 'before', 'sortBy', 'sortOrder', 'startTime', 'endTime']

const lists = catalogue.flatMap(({ id, path, chains: on, query }) => {
  // Without `sortBy`, a list is not in the store, and each request changes it.
  if (!(query instanceof z.ZodObject && 'startTime' in query.shape && 'sortBy' in query.shape)) return []
  const filters = Object.keys(query.shape).filter((name) => !conventions.includes(name))
  const at = path.replace('{wallet_id}', mainUsd).replace('{workspace_id}', workspace)
  return on.filter((chain) => chains[chain].perimeter === 'portal').map((chain) => ({ id, chain, path: at, filters }))
})

/** Values that some items lack. */
const others: Record<string, string> = {
  apiKeyStatus: 'EXPIRED',
  createdBy: unknownId,
  keyPrefix: 'ptk_000000000000',
  roleBizId: unknownId,
  accountName: 'nobody',
  accountEmail: 'nobody@',
  sourceCurrency: 'JPY',
  targetCurrency: 'JPY',
  exchangeStatus: 'PROCESSING',
  walletId: unknownId,
  rechargeStatus: 'REJECTED',
  workspaceId: unknownId,
  workspaceKind: 'SANDBOX',
  transferStatus: 'FAILED',
  channelStatus: 'DISABLED',
  channelType: 'CRYPTO',
  currency: 'JPY',
  withdrawalStatus: 'FAILED',
  flowType: 'EXCHANGE',
  direction: 'IN',
  exportType: 'LOGIN_HISTORY',
  exportStatus: 'FAILED',
  accountStatus: 'SUSPENDED',
  accountPortal: 'SYSTEM',
  workspaceStatus: 'FROZEN',
  workspaceName: 'nothing',
  actorId: unknownId,
  action: 'nothing',
  targetId: unknownId,
  outcome: 'REFUSED',
  requestId: 'nothing',
  clientIp: '203.0.113.99',
  orderNo: 'nothing',
  clientReference: 'nothing',
  externalReference: 'nothing',
  proposalStatus: 'DONE',
  proposalKind: 'RESET_FACTOR',
  webhookStatus: 'FAILED',
  deliveryStatus: 'WITHHELD',
  accountId: unknownId,
  proposalId: unknownId,
  webhookId: unknownId,
  withdrawalChannelId: unknownId,
}

const fields: Record<string, string[]> = {
  walletId: ['walletBizId', 'sourceWalletBizId', 'targetWalletBizId'],
  workspaceId: ['workspaceBizId'],
  actorId: ['actorBizId'],
  targetId: ['targetBizId'],
  roleBizId: ['workspaceRoleBizId'],
  accountId: ['bizId'],
  proposalId: ['bizId'],
  webhookId: ['bizId'],
  withdrawalChannelId: ['bizId'],
}

const Coded = z.object({ code: z.string() }).transform(({ code }) => code)
const FilterValue = z.union([z.string(), Coded])

function valuesOf(item: Item, filter: string): string[] {
  return (fields[filter] ?? [filter]).flatMap((field) => FilterValue.safeParse(item[field]).data ?? [])
}

function timeOf(item: Item): string {
  return z.string().parse(item.createdAt ?? item.loginTime ?? item.at)
}
function idOf(item: Item): string {
  return z.string().parse(item.bizId ?? item.userBizId)
}
function shifted(time: string, by: number): string {
  return new Date(Date.parse(time) + by).toISOString()
}

describe('lists', () => {
  let world: WithdrawalsWorld
  let webhook: string

  beforeAll(async () => {
    world = await startWithdrawalsWorld(({ money }) => {
      money.transferApprovalFrom = { USD: '2.00' }
    })
    const { web, data, create, createApproved } = world
    const moving = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, currency: 'USD' }
    for (const amount of ['1.00', '2.00']) await data(web('POST', '/transfer/command/create', { ...moving, amount }))
    await create()
    await createApproved()
    const recharge = { walletBizId: mainEur, channelCode: 'BANK_EUR', amount: '100.00' }
    await data(web('POST', '/recharges', recharge))
    const quoted = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '10.00', fixedSide: 'SOURCE' }
    const { quoteBizId } = await data(web('POST', '/exchanges/quote', quoted))
    await data(web('POST', '/exchanges', { quoteBizId }))
    await data(web('POST', '/api-keys', { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }))
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const operatorKey = { apiKeyName: 'SIEM', permissionCodes: ['audit:read'], expiresAt }
    await data(world.system('POST', '/operator-api-keys', operatorKey))
    const receiver = { url: 'http://127.0.0.1:59998/webhooks', eventTypes: ['transfer.completed'] }
    webhook = (await data(web('POST', '/webhooks', receiver))).bizId
    await data(web('POST', '/webhooks/test', { webhookBizId: webhook }))
    const [checker] = (await data(world.system('GET', '/accounts?accountEmail=checker@'))).items
    const proposal = { permissionCodes: ['audit:read'], reason: 'a narrower role' }
    await data(world.system('POST', `/operators/${checker.bizId}/permissions/propose`, proposal))
    const { bizId } = await data(web('POST', '/exports', { exportType: 'FLOWS', format: 'CSV' }))
    const status = async () => (await data(web('GET', `/exports/${bizId}`))).exportStatus.code
    await vi.waitUntil(async () => (await status()) === 'COMPLETED', { timeout: 60_000 })
  })
  afterAll(() => world?.portico.stop())

  test.each(lists)('$id 200 on $chain: by time, both ends inclusive, and by each filter', async (list) => {
    const { web, system, data } = world
    const read = async (query: Record<string, string>): Promise<Item[]> => {
      const path = `${list.path.replace('{webhook_id}', webhook)}?${new URLSearchParams({ pageSize: '100', sortOrder: 'asc', ...query })}`
      return (await data(list.chain === 'system' ? system('GET', path) : web('GET', path))).items
    }
    const all = await read({})
    const [first] = all
    if (!first) throw new Error('the list is empty')
    const known = new Set(all.map(idOf))
    /** The audit log grows in the meantime. */
    const found = async (query: Record<string, string>) => (await read(query)).map(idOf).filter((id) => known.has(id))
    const those = (wanted: (item: Item) => boolean) => all.filter(wanted).map(idOf)
    for (const time of new Set([first, all.at(-1) ?? first].map(timeOf))) {
      const [before, after] = [shifted(time, -1), shifted(time, 1)]
      expect(await found({ startTime: time, endTime: time })).toEqual(those((item) => timeOf(item) === time))
      expect(await found({ startTime: after })).toEqual(those((item) => timeOf(item) > time))
      expect(await found({ startTime: time.replace('Z', '001Z') })).toEqual(those((item) => timeOf(item) > time))
      expect(await found({ endTime: before })).toEqual(those((item) => timeOf(item) < time))
    }
    for (const filter of list.filters) {
      const other = others[filter] ?? ''
      expect(those((item) => valuesOf(item, filter).includes(other)).length, filter).toBeLessThan(all.length)
      // An entry of a job has no address.
      const values = all.flatMap((item) => valuesOf(item, filter)).filter((value) => value !== '')
      for (const value of [...values.slice(0, 1), other])
        expect(await found({ [filter]: value }), `${filter}=${value}`).toEqual(
          those((item) => valuesOf(item, filter).includes(value)),
        )
    }
  })
})
