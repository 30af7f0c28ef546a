import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Storage } from '../../../src/client/index.ts'
import { consumer, pair, transfer, wallet } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const auth = 'POST /web/v1/consumer/auth'
const wallets = 'GET /web/v1/consumer/wallets'

function sharedStorage(): Storage {
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

/** Counts the notifications of each tab. */
function tabs(...listeners: ReturnType<typeof vi.fn<() => void>>[]) {
  const storage = sharedStorage()
  return listeners.map((onSignedOut) => consumer(gateway.baseUrl, { storage, onSignedOut }))
}

/** Each page has its own object of localStorage, and with it the account that the page shows. */
function pages(...listeners: ReturnType<typeof vi.fn<() => void>>[]) {
  const storage = sharedStorage()
  return listeners.map((onSignedOut) => consumer(gateway.baseUrl, { storage: { ...storage }, onSignedOut }))
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

describe('a sign-in of a different account in another tab', () => {
  const claims = (sub: string) => Buffer.from(JSON.stringify({ sub })).toString('base64url')
  const pairOf = (account: string, name: string, expiresIn?: number) => ({
    ...pair(name, expiresIn),
    accessToken: `e30.${claims(account)}.${name}`,
  })
  const elsewhere = { code: 'CLIENT.SIGNED_IN_ELSEWHERE', status: 0 }

  it('makes every call of this tab fail, and nothing is sent', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([wallet]) })
    const [one, two] = pages(vi.fn(), vi.fn())
    await one?.session.adopt(pairOf('ada', '1'))
    expect(await one?.listWallets()).toHaveLength(1)
    await two?.session.adopt(pairOf('grace', '1'))
    await expect(one?.listWallets()).rejects.toMatchObject(elsewhere)
    await expect(one?.socketProtocols()).rejects.toMatchObject(elsewhere)
    await expect(one?.session.renew(pairOf('ada', '1'))).rejects.toMatchObject(elsewhere)
    expect(gateway.seen).toHaveLength(1)
    expect(await two?.listWallets()).toHaveLength(1)
    await one?.session.adopt(pairOf('ada', '2'))
    expect(await one?.listWallets()).toHaveLength(1)
    await expect(two?.listWallets()).rejects.toMatchObject(elsewhere)
  })

  it('makes a call fail whose token expires soon, instead of sending the old token', async () => {
    gateway = await scriptedGateway({
      [wallets]: ok([wallet]),
      [`${auth}/token/refresh`]: async (seen, response) => {
        await two?.session.adopt(pairOf('grace', '1'))
        await ok(pairOf('ada', '2'))(seen, response)
      },
    })
    const [one, two] = pages(vi.fn(), vi.fn())
    await one?.session.adopt(pairOf('ada', '1', 0))
    await expect(one?.listWallets()).rejects.toMatchObject(elsewhere)
    expect(await two?.session.tokens()).toMatchObject({ accessToken: pairOf('grace', '1').accessToken })
  })

  it('is not ended by a sign-out in this tab', async () => {
    gateway = await scriptedGateway({ [`${auth}/logout`]: ok({ success: true, terminatedSessions: 1 }) })
    const [one, two] = pages(vi.fn(), vi.fn())
    await one?.session.adopt(pairOf('ada', '1'))
    await two?.session.adopt(pairOf('grace', '1'))
    await expect(one?.signOut()).rejects.toMatchObject(elsewhere)
    await expect(one?.session.clear()).rejects.toMatchObject(elsewhere)
    expect(gateway.seen).toEqual([])
    expect(await two?.session.tokens()).toMatchObject({ accessToken: pairOf('grace', '1').accessToken })
  })

  it('stops the retries of a money command, so that they are not sent for the new account', async () => {
    gateway = await scriptedGateway({
      'POST /web/v1/consumer/transfer/command/create': async (_, response) => {
        await two?.session.adopt(pairOf('grace', '1'))
        response.destroy()
      },
    })
    const [one, two] = pages(vi.fn(), vi.fn())
    await one?.session.adopt(pairOf('ada', '1'))
    await expect(one?.createTransfer({ body: transfer })).rejects.toMatchObject(elsewhere)
    expect(gateway.seen).toHaveLength(1)
  })

  it('does not affect a tab of the same account, or one that has signed out itself', async () => {
    gateway = await scriptedGateway({
      [wallets]: ok([wallet]),
      [`${auth}/logout`]: ok({ success: true, terminatedSessions: 1 }),
    })
    const [one, two, three] = pages(vi.fn(), vi.fn(), vi.fn())
    await one?.session.adopt(pairOf('ada', '1'))
    await two?.session.adopt(pairOf('ada', '2'))
    expect(await one?.listWallets()).toHaveLength(1)
    await two?.signOut()
    await three?.session.adopt(pairOf('grace', '1'))
    expect(await two?.listWallets()).toHaveLength(1)
    await expect(one?.listWallets()).rejects.toMatchObject(elsewhere)
  })

  it('does not let a second client of the page, such as one in another language, act for the other account', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([wallet]) })
    const storage = sharedStorage()
    const mine = { ...storage }
    const first = consumer(gateway.baseUrl, { storage: mine })
    await first.session.adopt(pairOf('ada', '1'))
    await consumer(gateway.baseUrl, { storage: { ...storage } }).session.adopt(pairOf('grace', '1'))
    const second = consumer(gateway.baseUrl, { storage: mine, locale: 'ja' })
    await expect(second.createTransfer({ body: transfer })).rejects.toMatchObject(elsewhere)
    await expect(first.listWallets()).rejects.toMatchObject(elsewhere)
    expect(gateway.seen).toEqual([])
  })
})
