import { afterEach, describe, expect, it, vi } from 'vitest'
import { isPorticoError } from '../../../src/client/index.ts'
import { begun, completed, consumer, pair, sent, wallet } from '../fixtures.ts'
import { hangUp, ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(async () => {
  vi.unstubAllGlobals()
  await gateway.close()
})

const auth = 'POST /web/v1/consumer/auth'
const wallets = 'GET /web/v1/consumer/wallets'
const login = {
  [`${auth}/login/initiate`]: ok(begun),
  [`${auth}/login/mfa/send`]: ok(sent),
  [`${auth}/login/complete`]: ok(completed),
}
const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026', code: () => '123456' }

/** The gateway accepts only these tokens. */
function forTokens(...names: string[]): Step {
  return (seen, response) => {
    const known = names.some((name) => seen.headers.authorization === `Bearer access-${name}`)
    return (known ? ok([wallet]) : refuse(401, 'ACCESS.TOKEN_INVALID'))(seen, response)
  }
}

function sharedStorage() {
  const items = new Map<string, string>()
  return {
    items,
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  }
}

/** As in browsers, a tab sees the other tab's writes with a delay. */
function lateStorages(lateMs: number) {
  const views = [sharedStorage(), sharedStorage()]
  return views.map((own) => ({
    ...own,
    setItem: (key: string, value: string) => {
      own.setItem(key, value)
      for (const other of views) if (other !== own) setTimeout(() => other.setItem(key, value), lateMs)
    },
  }))
}

describe('sign-in', () => {
  it('runs the three steps with one client hash and stores the tokens', async () => {
    gateway = await scriptedGateway({ ...login, [wallets]: forTokens('1') })
    const client = consumer(gateway.baseUrl)
    const code = vi.fn(async () => '123456')
    expect(await client.signIn({ ...credentials, code })).toMatchObject({ sessionId: 'session', isNewDevice: true })
    expect(code).toHaveBeenCalledWith(sent, null, { mfaMethod: 'EMAIL', mfaMethods: ['EMAIL'] })
    expect(gateway.seen.map(({ body }) => body)).toEqual([
      { email: 'owner@demo.test', password: 'Portico-demo-2026' },
      { sessionId: 'pre-login', mfaMethod: 'EMAIL' },
      { sessionId: 'pre-login', mfaMethod: 'EMAIL', code: '123456' },
    ])
    expect(new Set(gateway.seen.map(({ headers }) => headers['x-client-hash'])).size).toBe(1)
    expect(await client.listWallets()).toHaveLength(1)
  })

  it('asks for another code after a wrong one only, up to the number of attempts', async () => {
    const wrong = refuse(401, 'AUTH.CODE_INVALID')
    const complete = [wrong, wrong, ok(completed), wrong, refuse(404, 'AUTH.SESSION_NOT_FOUND'), wrong]
    gateway = await scriptedGateway({ ...login, [`${auth}/login/complete`]: complete })
    const client = consumer(gateway.baseUrl)
    const code = vi.fn(async () => '123456')
    expect(await client.signIn({ ...credentials, code, attempts: 3 })).toMatchObject({ sessionId: 'session' })
    const again = expect.objectContaining({ code: 'AUTH.CODE_INVALID' })
    const factor = { mfaMethod: 'EMAIL', mfaMethods: ['EMAIL'] }
    expect(code.mock.calls).toEqual([
      [sent, null, factor],
      [sent, again, factor],
      [sent, again, factor],
    ])
    expect(gateway.to('/login/mfa/send')).toHaveLength(1)
    const exhausted = client.signIn({ ...credentials, attempts: 3 })
    await expect(exhausted).rejects.toHaveProperty('code', 'AUTH.SESSION_NOT_FOUND')
    await expect(client.signIn(credentials)).rejects.toHaveProperty('code', 'AUTH.CODE_INVALID')
    expect(gateway.to('/login/complete')).toHaveLength(6)
  })

  it("sends no code for a method that generates codes on the user's device", async () => {
    gateway = await scriptedGateway(login)
    await consumer(gateway.baseUrl).signIn({ ...credentials, mfaMethod: 'OTP' })
    expect(gateway.to('/mfa/send')).toEqual([])
    expect(gateway.to('/login/complete')[0]?.body).toMatchObject({ mfaMethod: 'OTP' })
  })

  it('uses the authenticator of an account that does not offer mailed codes', async () => {
    const coded = (code: string, value: number) => ({ code, value, label: code, description: code })
    const offered = [coded('OTP', 10011002), coded('BACKUP_CODE', 10011005)]
    gateway = await scriptedGateway({ ...login, [`${auth}/login/initiate`]: ok({ ...begun, mfaMethods: offered }) })
    const code = vi.fn(async () => '123456')
    await consumer(gateway.baseUrl).signIn({ ...credentials, code })
    expect(code.mock.calls).toEqual([[null, null, { mfaMethod: 'OTP', mfaMethods: ['OTP', 'BACKUP_CODE'] }]])
    expect(gateway.to('/mfa/send')).toEqual([])
    expect(gateway.to('/login/complete')[0]?.body).toMatchObject({ mfaMethod: 'OTP', code: '123456' })
  })

  it('is rejected for an account that waits for approval', async () => {
    const waiting = { ...begun, sessionId: null, mfaMethods: [], pendingApproval: true }
    gateway = await scriptedGateway({ [`${auth}/login/initiate`]: ok(waiting) })
    await expect(consumer(gateway.baseUrl).signIn(credentials)).rejects.toHaveProperty('code', 'AUTH.PENDING_APPROVAL')
  })

  it('ends with a sign-out, even if the gateway has already ended the session', async () => {
    gateway = await scriptedGateway({ ...login, [`${auth}/logout`]: refuse(401, 'ACCESS.TOKEN_MISSING') })
    const client = consumer(gateway.baseUrl)
    await client.signIn(credentials)
    await client.signOut()
    expect(await client.session.tokens()).toBeNull()
    await client.signOut()
    expect(gateway.to('/logout')).toHaveLength(1)
  })

  it('does not end by a 401 from a proxy in front of the gateway', async () => {
    const page: Step = (_, response) => void response.writeHead(401, { 'content-type': 'text/html' }).end('<html>')
    gateway = await scriptedGateway({ ...login, [`${auth}/logout`]: page })
    const client = consumer(gateway.baseUrl)
    await client.signIn(credentials)
    await expect(client.signOut()).rejects.toMatchObject({ code: 'CLIENT.INVALID_REPLY', status: 401 })
    expect(await client.session.tokens()).toBeNull()
  })
})

describe('tokens', () => {
  it('are renewed once for several calls with an invalid token', async () => {
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: ok(pair('2')) })
    const client = consumer(gateway.baseUrl)
    await client.session.adopt(pair('1'))
    await Promise.all(Array.from({ length: 5 }, () => client.listWallets()))
    expect(gateway.to('/token/refresh').map(({ body }) => body)).toEqual([{ refreshToken: 'refresh-1' }])
    expect(gateway.to('/token/refresh')[0]?.headers).not.toHaveProperty('authorization')
  })

  it('are renewed before their expiry', async () => {
    gateway = await scriptedGateway({ [wallets]: forTokens('1', '2'), [`${auth}/token/refresh`]: ok(pair('2')) })
    let now = Date.now()
    const client = consumer(gateway.baseUrl, { now: () => now })
    await client.session.adopt(pair('1'))
    await client.listWallets()
    now += 880_000
    await client.listWallets()
    expect(gateway.seen.map(({ path }) => path.split('/').at(-1))).toEqual(['wallets', 'refresh', 'wallets'])
    expect(gateway.seen.at(-1)?.headers.authorization).toBe('Bearer access-2')
  })

  it('survive a failed early renewal and an outage', async () => {
    const refresh = [refuse(500, 'SYSTEM.INTERNAL_ERROR'), hangUp, ok(pair('2'))]
    gateway = await scriptedGateway({ [wallets]: forTokens('1', '2'), [`${auth}/token/refresh`]: refresh })
    let now = Date.now()
    const client = consumer(gateway.baseUrl, { now: () => now })
    await client.session.adopt(pair('1'))
    now += 880_000
    await client.listWallets()
    await client.listWallets()
    expect(gateway.to('/wallets').map(({ headers }) => headers.authorization)).toEqual([
      'Bearer access-1',
      'Bearer access-2',
    ])
  })

  it('are renewed again within the 30 s in which the gateway repeats a lost reply', async () => {
    const times = vi.spyOn(AbortSignal, 'timeout')
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: ok(pair('2')) })
    for (const timeoutMs of [undefined, 2_000]) {
      const client = consumer(gateway.baseUrl, timeoutMs === undefined ? {} : { timeoutMs })
      await client.session.adopt(pair('1', 0))
      await client.listWallets()
    }
    expect(times.mock.calls.flat()).toEqual([10_000, 30_000, 2_000, 2_000])
    times.mockRestore()
  })

  it('are renewed again after an edge lost the reply: a minute later it would count as theft', async () => {
    const edge: Step = (_, response) => void response.writeHead(502).end('<h1>Bad Gateway</h1>')
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: [edge, ok(pair('2'))] })
    const client = consumer(gateway.baseUrl, { retry: { firstDelayMs: 1 } })
    await client.session.adopt(pair('1'))
    await client.listWallets()
    expect(gateway.to('/token/refresh').map(({ body }) => body)).toEqual(Array(2).fill({ refreshToken: 'refresh-1' }))
  })

  it.each([
    ['has no such session', refuse(404, 'AUTH.SESSION_NOT_FOUND')],
    ['rejects the refresh token of another client', refuse(401, 'AUTH.CLIENT_MISMATCH')],
  ])('are deleted if the gateway %s, and the call fails with its own refusal', async (_name, gone) => {
    gateway = await scriptedGateway({ [wallets]: forTokens('9'), [`${auth}/token/refresh`]: gone })
    const onSignedOut = vi.fn()
    const client = consumer(gateway.baseUrl, { onSignedOut })
    await client.session.adopt(pair('1'))
    const error = await client.listWallets().catch((thrown: unknown) => thrown)
    expect(isPorticoError(error, 'ACCESS.TOKEN_INVALID')).toBe(true)
    expect(gateway.to('/wallets')).toHaveLength(1)
    expect(await client.session.tokens()).toBeNull()
    expect(onSignedOut).toHaveBeenCalledOnce()
  })

  it('survive a 401 of a proxy, a captive portal or a service worker to the renewal', async () => {
    const page: Step = (_, response) => void response.writeHead(401, { 'content-type': 'text/html' }).end('<html>')
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: [page, ok(pair('2'))] })
    const onSignedOut = vi.fn()
    const client = consumer(gateway.baseUrl, { onSignedOut })
    await client.session.adopt(pair('1'))
    await expect(client.listWallets()).rejects.toMatchObject({ code: 'CLIENT.INVALID_REPLY', status: 401 })
    expect(onSignedOut).not.toHaveBeenCalled()
    expect(await client.listWallets()).toHaveLength(1)
  })

  it('are renewed for the numeric refusal of users/self, too', async () => {
    const config = 'GET /web/v1/users/self/security/sessions/config'
    const steps = [refuse(401, '4010'), refuse(503, 'SYSTEM.UNAVAILABLE')]
    gateway = await scriptedGateway({ [config]: steps, [`${auth}/token/refresh`]: ok(pair('2')) })
    const client = consumer(gateway.baseUrl)
    await client.session.adopt(pair('1'))
    await expect(client.readOwnSessionConfig()).rejects.toHaveProperty('status', 503)
    expect(gateway.to('/config').map(({ headers }) => headers.authorization)).toEqual([
      'Bearer access-1',
      'Bearer access-2',
    ])
  })

  it.each([
    ['overwritten by its result', ok(pair('2'))],
    ['deleted when it fails', refuse(404, 'AUTH.SESSION_NOT_FOUND')],
  ])('of a sign-in during a renewal are not %s', async (_name, renewed) => {
    const slow: Step = async (seen, response) => {
      await client.session.adopt(pair('9'))
      await renewed(seen, response)
    }
    gateway = await scriptedGateway({ [wallets]: forTokens('9'), [`${auth}/token/refresh`]: slow })
    const onSignedOut = vi.fn()
    const client = consumer(gateway.baseUrl, { onSignedOut })
    await client.session.adopt(pair('1'))
    expect(await client.listWallets()).toHaveLength(1)
    expect(await client.session.tokens()).toMatchObject({ accessToken: 'access-9', refreshToken: 'refresh-9' })
    expect(onSignedOut).not.toHaveBeenCalled()
  })

  it('are renewed at most once per call', async () => {
    gateway = await scriptedGateway({ [wallets]: forTokens('9'), [`${auth}/token/refresh`]: ok(pair('2')) })
    const client = consumer(gateway.baseUrl)
    await client.session.adopt(pair('1'))
    await expect(client.listWallets()).rejects.toHaveProperty('code', 'ACCESS.TOKEN_INVALID')
    expect(gateway.to('/token/refresh')).toHaveLength(1)
  })

  it('set by the caller are sent unchanged', async () => {
    gateway = await scriptedGateway({ [wallets]: forTokens('1') })
    const client = consumer(gateway.baseUrl)
    await client.session.adopt(pair('1'))
    await expect(client.listWallets({ headers: { Authorization: 'Bearer x' } })).rejects.toHaveProperty('status', 401)
    expect(gateway.seen).toHaveLength(1)
  })
})

describe('two tabs', () => {
  it('share client hash and tokens, and renew them once between them', async () => {
    const slow: Step = async (seen, response) => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      await ok(pair('2'))(seen, response)
    }
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: slow })
    const storage = sharedStorage()
    const [one, two] = [consumer(gateway.baseUrl, { storage }), consumer(gateway.baseUrl, { storage })]
    await one.session.adopt(pair('1'))
    await Promise.all([one.listWallets(), two.listWallets(), one.listWallets()])
    expect(gateway.to('/token/refresh')).toHaveLength(1)
    expect(await one.clientHash()).toBe(await two.clientHash())
    expect(await two.session.tokens()).toMatchObject({ accessToken: 'access-2' })
  })

  it('sign out together; a renewal in flight does not restore the sign-in', async () => {
    const storage = sharedStorage()
    const slow: Step = async (seen, response) => {
      storage.items.delete('portico:CONSUMER:tokens')
      await ok(pair('2'))(seen, response)
    }
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: slow })
    const client = consumer(gateway.baseUrl, { storage })
    await client.session.adopt(pair('1'))
    await expect(client.listWallets()).rejects.toHaveProperty('code', 'ACCESS.TOKEN_INVALID')
    expect(await client.session.tokens()).toBeNull()
  })

  it('use the tokens with the client hash that they are bound to, not their own', async () => {
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: ok(pair('2')) })
    const storage = sharedStorage()
    const [one, two] = ['one', 'two'].map((clientHash) => consumer(gateway.baseUrl, { storage, clientHash }))
    await one?.session.adopt(pair('1'))
    await two?.listWallets()
    await one?.listWallets()
    expect(gateway.seen.map(({ headers }) => headers['x-client-hash'])).toEqual(Array(4).fill('one'))
    await two?.session.clear()
    expect(await two?.clientHash()).toBe('two')
  })

  it('wait for a write of another tab to become visible', async () => {
    gateway = await scriptedGateway({ [wallets]: forTokens('2'), [`${auth}/token/refresh`]: ok(pair('2')) })
    vi.stubGlobal('document', {})
    const [one, two] = lateStorages(100).map((storage) => consumer(gateway.baseUrl, { storage, clientHash: 'one' }))
    if (!one || !two) throw new Error('no tabs')
    await one.session.adopt(pair('1'))
    await two.session.adopt(pair('1'))
    await Promise.all([one.listWallets(), two.listWallets()])
    expect(gateway.to('/token/refresh')).toHaveLength(1)
  })

  it('ignore stored values that are not valid tokens', async () => {
    gateway = await scriptedGateway({})
    const storage = sharedStorage()
    const client = consumer(gateway.baseUrl, { storage })
    const whole = { accessToken: 'a', refreshToken: 'r', clientHash: 'h', renewAt: 0 }
    const garbled = [{ accessToken: '' }, { accessToken: 'tök en' }, { refreshToken: '\n' }, { clientHash: '日' }]
    const texts = garbled.map((part) => JSON.stringify({ ...whole, ...part }))
    for (const text of ['{', 'null', '[]', '{"accessToken":1}', ...texts]) {
      storage.items.set('portico:CONSUMER:tokens', text)
      expect(await client.session.tokens()).toBeNull()
    }
  })
})
