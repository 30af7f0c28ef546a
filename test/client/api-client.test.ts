import { afterEach, describe, expect, expectTypeOf, it } from 'vitest'
import { createApiClient } from '../../src/client/index.ts'
import { catalogue } from '../../src/contract/index.ts'
import { order, transfer, wallet, walletId } from './fixtures.ts'
import { hangUp, ok, refuse, type ScriptedGateway, scriptedGateway } from './scripted-gateway.ts'

describe("a machine's client", () => {
  let gateway: ScriptedGateway
  afterEach(() => gateway?.close())

  const clientOf = ({ baseUrl }: ScriptedGateway) =>
    createApiClient({ baseUrl, apiKey: 'key-1', retry: { firstDelayMs: 1 } })

  it('has a method for each operation of the machine chain, and no other', async () => {
    gateway = await scriptedGateway({})
    const served = catalogue.filter(({ chains }) => chains.some((chain) => chain === 'api'))
    expect(Object.keys(clientOf(gateway))).toHaveLength(served.length + 2)
    expectTypeOf(clientOf(gateway)).not.toHaveProperty('readProfile')
  })

  it('authenticates by its key, without the headers of browsers', async () => {
    gateway = await scriptedGateway({ 'GET /api/v1/consumer/wallets': ok([wallet]) })
    expect(await clientOf(gateway).listWallets()).toEqual([wallet])
    const { headers } = gateway.seen[0] ?? { headers: {} }
    expect(headers).toMatchObject({ authorization: 'Bearer key-1', 'x-locale': 'en' })
    for (const name of ['x-portal-access-code', 'x-client-hash', 'x-forwarded-proto', 'x-secure-channel-session-id'])
      expect(headers).not.toHaveProperty(name)
  })

  it('executes a money command once, however often it retries', async () => {
    const create = 'POST /api/v1/consumer/transfer/command/create'
    gateway = await scriptedGateway({ [create]: [hangUp, refuse(503, 'SYSTEM.UNAVAILABLE'), ok(order)] })
    expect((await clientOf(gateway).createTransfer({ body: transfer })).bizId).toBe(walletId)
    expect(new Set(gateway.seen.map(({ headers }) => headers['x-request-id'])).size).toBe(1)
    expect(gateway.seen.map(({ body }) => body)).toEqual([transfer, transfer, transfer])
  })

  it('has no secure channel and rejects calls that must be sealed', async () => {
    gateway = await scriptedGateway({})
    await expect(clientOf(gateway).createTransfer({ body: transfer, seal: true })).rejects.toThrow(/cannot be sealed/)
    expect(gateway.seen).toEqual([])
  })

  it('does not renew its key', async () => {
    gateway = await scriptedGateway({ 'GET /api/v1/consumer/wallets': refuse(401, 'ACCESS.TOKEN_INVALID') })
    await expect(clientOf(gateway).listWallets()).rejects.toHaveProperty('code', 'ACCESS.TOKEN_INVALID')
    expect(gateway.seen).toHaveLength(1)
  })
})
