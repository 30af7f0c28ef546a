import { afterEach, describe, expect, it } from 'vitest'
import { consumer, pair, wallet } from './fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from './scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const refresh = 'POST /web/v1/consumer/auth/token/refresh'
const wallets = 'GET /web/v1/consumer/wallets'
const full = () => {
  throw new DOMException('full', 'QuotaExceededError')
}

describe('a storage that fails', () => {
  it('once is asked again for the client hash by the next call', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([wallet]) })
    const items = new Map<string, string>()
    let failures = 1
    const storage = {
      getItem: async (key: string) => {
        if (key.endsWith('client-hash') && failures-- > 0) throw new Error('the database is being opened')
        return items.get(key) ?? null
      },
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    }
    const client = consumer(gateway.baseUrl, { storage })
    await expect(client.listWallets()).rejects.toThrow('being opened')
    expect(await client.listWallets()).toHaveLength(1)
  })

  it('is forbidden altogether, and the sign-in lives in the client’s memory', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([wallet]) })
    const forbidden = () => {
      throw new DOMException('denied', 'SecurityError')
    }
    const storage = { getItem: forbidden, setItem: forbidden, removeItem: forbidden }
    const client = consumer(gateway.baseUrl, { storage })
    await client.session.adopt(pair('1'))
    expect(await client.listWallets()).toHaveLength(1)
    expect(gateway.to('/wallets')[0]?.headers).toMatchObject({
      authorization: 'Bearer access-1',
      'x-client-hash': await client.clientHash(),
    })
    await client.session.clear()
    expect(await client.session.tokens()).toBeNull()
  })

  it('takes nothing more, and the sign-in goes on with the renewed tokens', async () => {
    const forSecond: Step = (seen, response) =>
      (seen.headers.authorization === 'Bearer access-2' ? ok([wallet]) : refuse(401, 'ACCESS.TOKEN_INVALID'))(
        seen,
        response,
      )
    gateway = await scriptedGateway({ [wallets]: forSecond, [refresh]: ok(pair('2')) })
    const items = new Map<string, string>()
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    }
    const client = consumer(gateway.baseUrl, { storage, clientHash: 'one' })
    await client.session.adopt(pair('1'))
    storage.setItem = full
    expect(await client.listWallets()).toHaveLength(1)
    expect(await client.listWallets()).toHaveLength(1)
    expect(gateway.to('/token/refresh')).toHaveLength(1)
    expect(items.size).toBe(0)
  })
})
