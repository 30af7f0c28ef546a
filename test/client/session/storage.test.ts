import { afterEach, describe, expect, it } from 'vitest'
import { type Storage, withMemoryFallback } from '../../../src/client/session/storage.ts'
import { consumer, pair, wallet } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway | undefined
afterEach(() => gateway?.close())

const refresh = 'POST /web/v1/consumer/auth/token/refresh'
const wallets = 'GET /web/v1/consumer/wallets'
function full() {
  throw new DOMException('full', 'QuotaExceededError')
}

describe('a failing storage', () => {
  it('is read again for the client hash by the next call', async () => {
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

  it("that is forbidden: the sign-in lives in the client's memory", async () => {
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

  it('that is full: the sign-in continues with the renewed tokens', async () => {
    const forSecond: Step = (seen, response) =>
      (seen.headers.authorization === 'Bearer access-2' ? ok([wallet]) : refuse(401, 'ACCESS.TOKEN_INVALID'))(
        seen,
        response,
      )
    gateway = await scriptedGateway({ [wallets]: forSecond, [refresh]: ok(pair('2')) })
    const items = new Map<string, string>()
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string): void => {
        items.set(key, value)
      },
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

describe('a rejected value', () => {
  const rejecting = () => {
    const items = new Map<string, string>([['k', 'before']])
    const storage: Storage = {
      getItem: (key) => items.get(key) ?? null,
      setItem: (key, value) => void items.set(key, value),
      removeItem: (key) => void items.delete(key),
    }
    return { items, storage, takes: storage.setItem, anyway: withMemoryFallback(storage) }
  }

  it('is stored in memory once its predecessor has been removed', async () => {
    const { items, storage, anyway } = rejecting()
    storage.setItem = full
    const leaves = Promise.withResolvers<void>()
    storage.removeItem = async (key) => {
      await leaves.promise
      items.delete(key)
    }
    let isStored = false
    const storeItem = async () => {
      await anyway.setItem('k', 'own')
      isStored = true
    }
    const storing = storeItem()
    const read = anyway.getItem('k')
    await new Promise(setImmediate)
    expect(isStored).toBe(false)
    leaves.resolve()
    await storing
    expect(await read).toBe('own')
  })

  it("is deleted once the storage accepts a value again or has another tab's", async () => {
    const { items, storage, takes, anyway } = rejecting()
    storage.setItem = full
    await anyway.setItem('k', 'own')
    storage.setItem = takes
    await anyway.setItem('k', 'taken')
    items.clear()
    expect(await anyway.getItem('k')).toBeNull()
    storage.setItem = full
    await anyway.setItem('k', 'own')
    items.set('k', 'another tab’s')
    expect(await anyway.getItem('k')).toBe('another tab’s')
    items.clear()
    expect(await anyway.getItem('k')).toBeNull()
  })

  it("is not deleted for another tab's value that was read before", async () => {
    const { items, storage, anyway } = rejecting()
    const started = Promise.withResolvers<void>()
    const written = Promise.withResolvers<string>()
    const { getItem } = storage
    storage.setItem = full
    storage.getItem = () => {
      started.resolve()
      return written.promise
    }
    const reading = anyway.getItem('k')
    await started.promise
    await anyway.setItem('k', 'own')
    written.resolve('another tab’s')
    expect(await reading).toBe('another tab’s')
    storage.getItem = getItem
    expect([items.size, await anyway.getItem('k')]).toEqual([0, 'own'])
  })
})
