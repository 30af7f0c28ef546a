import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { routes } from '../harness/catalogue.ts'
import { type AccessWorld, startAccessWorld } from './access-world.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const permissionCodes = ['wallet:read', 'transfer:read', 'transfer:create']
const since = `startTime=${new Date(Date.now() - 3_600_000).toISOString()}`

/** The order of these reads was created on the same chain. */
function reads(order: string): Record<string, string> {
  return {
    'transfers.list': `/transfer/query/orders?walletId=${mainUsd}&${since}`,
    'transfers.listOfWallet': `/transfer/query/orders/wallet/${mainUsd}?${since}`,
    'transfers.read': `/transfer/query/orders/${order}`,
    'transfers.completed': `/transfer/query/orders/${order}/completed`,
    'wallets.list': '/wallets',
    'wallets.read': `/wallets/${mainUsd}`,
    'wallets.balance': `/wallets/${mainUsd}/balance`,
    'wallets.flows': `/wallets/${mainUsd}/flows`,
  }
}

describe('the machine chain', () => {
  let world: AccessWorld
  let key: string
  beforeAll(async () => {
    world = await startAccessWorld()
    const body = { apiKeyName: 'Machine', permissionCodes }
    key = (await world.data(world.owner, 'POST', '/api-keys', { workspace, body })).secret
  })
  afterAll(() => world?.portico.stop())

  /** An API key determines its workspace. With an access token, the header does. */
  const means = {
    'an API key': () => ({ headers: { authorization: `Bearer ${key}` } }),
    'an access token': () => ({ token: world.owner.accessToken, workspace }),
  }

  test('has the nine operations of the interface, and the events', () => {
    const ids = routes.filter(({ chainId }) => chainId === 'api').map(({ operation }) => operation.id)
    expect(ids.toSorted()).toEqual(
      [...Object.keys(reads('')), 'transfers.create', 'events.list', 'events.stream'].toSorted(),
    )
  })

  test.each(Object.entries(means))(
    'all nine are 200 with %s and return the same data as on the portal',
    async (_, withIt) => {
      const request = async (method: 'GET' | 'POST', path: string, body?: object) => {
        const response = await world.portico.call(method, `/api/v1/consumer${path}`, {
          ...withIt(),
          ...(body && { body }),
        })
        if (response.status !== 200) throw new Error(`${path}: ${response.status} ${response.text}`)
        return response.body.data
      }
      const created = await request('POST', '/transfer/command/create', {
        sourceWalletBizId: mainUsd,
        targetWalletBizId: savingsUsd,
        amount: '0.25',
        currency: 'USD',
      })
      expect(created).toMatchObject({ amount: '0.25', transferStatus: { code: 'COMPLETED' } })
      for (const [id, path] of Object.entries(reads(created.bizId))) {
        const atThePortal = await world.data(world.owner, 'GET', path, { workspace })
        const expected = id === 'wallets.balance' ? { ...atThePortal, asOf: expect.any(String) } : atThePortal
        expect(await request('GET', path), id).toEqual(expected)
      }
      expect(await request('GET', reads(created.bizId)['transfers.completed'] ?? '')).toBe(true)
    },
  )
})
