import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Storage } from '../../../src/client/index.ts'
import { consumer, pair, wallet } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const auth = 'POST /web/v1/consumer/auth'
const wallets = 'GET /web/v1/consumer/wallets'

const sharedStorage = (): Storage => {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  }
}

const signedIn: Step = (seen, response) => {
  const step = seen.headers.authorization === 'Bearer access-1' ? ok([wallet]) : refuse(401, 'ACCESS.TOKEN_MISSING')
  return step(seen, response)
}

/** Creates two tabs and counts the sign-out notifications of each. */
const tabs = (...listeners: ReturnType<typeof vi.fn<() => void>>[]) => {
  const storage = sharedStorage()
  return listeners.map((onSignedOut) => consumer(gateway.baseUrl, { storage, onSignedOut }))
}

describe('the end of a shared sign-in', () => {
  it('is reported once to each tab that knew of it, at its next call', async () => {
    gateway = await scriptedGateway({
      [wallets]: signedIn,
      [`${auth}/logout`]: ok({ success: true, terminatedSessions: 1 }),
    })
    const listeners = [vi.fn(), vi.fn(), vi.fn()]
    const [one, two, stranger] = tabs(...listeners)
    await one?.session.adopt(pair('1'))
    await two?.listWallets()
    await one?.signOut()
    for (const tab of [one, two, two, stranger])
      await expect(tab?.listWallets()).rejects.toHaveProperty('code', 'ACCESS.TOKEN_MISSING')
    expect(listeners.map(({ mock }) => mock.calls.length)).toEqual([0, 1, 0])
    await one?.session.adopt(pair('1'))
    await two?.listWallets()
    expect(listeners[1]).toHaveBeenCalledOnce()
  })

  it('is reported to a tab that adopted it and made no call since', async () => {
    gateway = await scriptedGateway({ [wallets]: signedIn })
    const listeners = [vi.fn(), vi.fn()]
    const [one, two] = tabs(...listeners)
    await one?.session.adopt(pair('1'))
    await two?.session.clear()
    expect(await one?.session.tokens()).toBeNull()
    expect(listeners.map(({ mock }) => mock.calls.length)).toEqual([1, 0])
  })

  it('is reported to all tabs whose renewal fails, whichever of them called the gateway', async () => {
    const gone: Step = async (seen, response) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      await refuse(404, 'AUTH.SESSION_NOT_FOUND')(seen, response)
    }
    gateway = await scriptedGateway({
      [wallets]: refuse(401, 'ACCESS.TOKEN_INVALID'),
      [`${auth}/token/refresh`]: gone,
    })
    const listeners = [vi.fn(), vi.fn()]
    const [one, two] = tabs(...listeners)
    await one?.session.adopt(pair('1'))
    await Promise.allSettled([one?.listWallets(), two?.listWallets(), one?.listWallets()])
    expect(gateway.to('/token/refresh')).toHaveLength(1)
    expect(listeners.map(({ mock }) => mock.calls.length)).toEqual([1, 1])
  })
})
