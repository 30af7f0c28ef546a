import { afterEach, describe, expect, it, vi } from 'vitest'
import { consumer, pair, wallet } from './fixtures.ts'
import { ok, type ScriptedGateway, scriptedGateway } from './scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(async () => {
  vi.unstubAllGlobals()
  await gateway.close()
})

/** Pages over plain HTTP lack these globals. */
function bereave() {
  return vi.stubGlobal('crypto', { getRandomValues: globalThis.crypto.getRandomValues.bind(globalThis.crypto) })
}

describe('a page without a secure context', () => {
  it('calls in plain text, each with its own request id', async () => {
    bereave()
    gateway = await scriptedGateway({ 'GET /web/v1/consumer/wallets': ok([wallet]) })
    const client = consumer(gateway.baseUrl)
    await client.session.adopt(pair('1'))
    for (let round = 0; round < 20; round++) await client.listWallets()
    const ids = gateway.seen.map(({ headers }) => headers['x-request-id'])
    expect(new Set(ids).size).toBe(20)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('rejects sealed calls with the reason, before anything is sent', async () => {
    bereave()
    gateway = await scriptedGateway({})
    const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026', code: () => '123456' }
    const signingIn = consumer(gateway.baseUrl, { seal: 'sensitive' }).signIn(credentials)
    await expect(signingIn).rejects.toThrow(/^the secure channel needs crypto.subtle, .* by seal: 'none'$/)
    expect(gateway.seen).toEqual([])
  })
})
