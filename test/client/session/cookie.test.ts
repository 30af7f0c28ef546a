import { afterEach, expect, test, vi } from 'vitest'
import { createClient, isPorticoError, type SessionState } from '../../../src/client/index.ts'
import { begun, sent, wallet } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const auth = 'POST /web/v1/consumer/auth'
const session = 'GET /web/v1/consumer/auth/browser-session'
const wallets = 'GET /web/v1/consumer/wallets'
const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026', code: () => '123456' }
const [owner, member] = ['01933b6e-7c1a-7e0a-8f35-00000000000a', '01933b6e-7c1a-7e0a-8f35-00000000000b']

function signedIn(accountBizId: string): SessionState {
  const end = '2026-01-01T00:00:00.000Z'
  const times = { idleExpiresAt: end, expiresAt: end, steppedUpUntil: null }
  return { signedIn: true, accountBizId, portal: 'CONSUMER', ...times, workspaceBizId: null, permissionCodes: [] }
}

const login: Record<string, Step> = {
  [`${auth}/login/initiate`]: ok(begun),
  [`${auth}/login/mfa/send`]: ok(sent),
  [`${auth}/browser-session`]: ok({ sessionId: 'session', isNewDevice: true, expiresIn: 43_200, idleExpiresIn: 1_800 }),
  [`${auth}/browser-session/end`]: ok({ success: true, terminatedSessions: 1 }),
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

function page(storage = sharedStorage(), onSignedOut: () => void = () => undefined) {
  const seen: RequestInit[] = []
  const client = createClient({
    baseUrl: gateway.baseUrl,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    session: 'cookie',
    seal: 'none',
    // Each tab has its own object of localStorage.
    storage: { ...storage },
    onSignedOut,
    fetch: (input, init) => {
      seen.push(init ?? {})
      return fetch(input, init)
    },
  })
  return { client, seen, storage }
}

test('signIn: no token is in the storage or in a header, and cookies are included', async () => {
  gateway = await scriptedGateway({ ...login, [session]: ok(signedIn(owner)), [wallets]: ok([wallet]) })
  const { client, seen, storage } = page()
  expect(await client.signIn(credentials)).toMatchObject({ sessionId: 'session', idleExpiresIn: 1_800 })
  expect(await client.listWallets()).toHaveLength(1)
  expect([...storage.items.keys()].toSorted()).toEqual(['portico:CONSUMER:account', 'portico:CONSUMER:client-hash'])
  expect(seen.map(({ credentials: mode }) => mode)).toEqual(seen.map(() => 'include'))
  expect(gateway.seen.flatMap(({ headers }) => headers.authorization ?? [])).toEqual([])
})

test('onChange: a sign-in and a sign-out are seen in another tab', async () => {
  gateway = await scriptedGateway({ ...login, [session]: ok(signedIn(owner)) })
  const { client, storage } = page()
  const other = page(storage).client
  const states: boolean[] = []
  const stop = other.session.onChange(({ signedIn: is }) => states.push(is))
  await client.signIn(credentials)
  await vi.waitFor(() => expect(states).toEqual([true]))
  stop()
})

test('a call after another tab signed in a different account is not sent', async () => {
  gateway = await scriptedGateway({
    ...login,
    [session]: [ok(signedIn(owner)), ok(signedIn(member))],
    [wallets]: ok([wallet]),
  })
  const { client, storage } = page()
  await client.signIn(credentials)
  await page(storage).client.signIn(credentials)
  await expect(client.listWallets()).rejects.toHaveProperty('code', 'CLIENT.SIGNED_IN_ELSEWHERE')
  await expect(client.socketProtocols()).rejects.toHaveProperty('code', 'CLIENT.SIGNED_IN_ELSEWHERE')
  expect(gateway.to('/wallets')).toEqual([])
})

test('a call of a page that has not read its session is not sent after another tab signed in a different account', async () => {
  gateway = await scriptedGateway({
    ...login,
    [session]: [ok(signedIn(owner)), ok(signedIn(member))],
    [wallets]: ok([wallet]),
  })
  const { client, storage } = page()
  await client.signIn(credentials)
  const reloaded = page(storage).client
  expect(await reloaded.listWallets()).toHaveLength(1)
  await page(storage).client.signIn(credentials)
  await expect(reloaded.listWallets()).rejects.toHaveProperty('code', 'CLIENT.SIGNED_IN_ELSEWHERE')
  expect(gateway.to('/wallets')).toHaveLength(1)
})

test('a call is not sent after a sign-in in another tab that could not read its account', async () => {
  gateway = await scriptedGateway({
    ...login,
    [session]: [ok(signedIn(owner)), refuse(503, 'SYSTEM.UNAVAILABLE'), ok(signedIn(member))],
    [wallets]: ok([wallet]),
  })
  const { client, storage } = page()
  await client.signIn(credentials)
  await expect(page(storage).client.signIn(credentials)).rejects.toHaveProperty('status', 503)
  await expect(client.listWallets()).rejects.toHaveProperty('code', 'CLIENT.SIGNED_IN_ELSEWHERE')
  expect(gateway.to('/wallets')).toEqual([])
})

test('onChange: the sign-in of a different account is seen in another tab', async () => {
  gateway = await scriptedGateway({ ...login, [session]: [ok(signedIn(owner)), ok(signedIn(member))] })
  const { client, storage } = page()
  await client.signIn(credentials)
  const accounts: unknown[] = []
  const stop = client.session.onChange(({ accountBizId }) => accounts.push(accountBizId))
  await page(storage).client.signIn(credentials)
  await vi.waitFor(() => expect(accounts).toEqual([member]))
  stop()
})

test('onSignedOut: called once after the gateway has ended the session', async () => {
  gateway = await scriptedGateway({
    ...login,
    [session]: [ok(signedIn(owner)), ok({ signedIn: false })],
    [wallets]: refuse(401, 'ACCESS.TOKEN_INVALID'),
  })
  const onSignedOut = vi.fn()
  const { client } = page(sharedStorage(), onSignedOut)
  await client.signIn(credentials)
  const states: boolean[] = []
  const stop = client.session.onChange(({ signedIn: is }) => states.push(is))
  for (let each = 0; each < 2; each++) {
    const error = await client.listWallets().catch((thrown: unknown) => thrown)
    expect(isPorticoError(error, 'ACCESS.TOKEN_INVALID')).toBe(true)
  }
  expect([onSignedOut.mock.calls.length, states.includes(false)]).toEqual([1, true])
  stop()
})

test('signOut: each other tab asks the gateway once, and reports the end once', async () => {
  gateway = await scriptedGateway({
    ...login,
    [session]: [ok(signedIn(owner)), ok(signedIn(owner)), ok(signedIn(owner)), ok({ signedIn: false })],
  })
  const { client, storage } = page()
  await client.signIn(credentials)
  const states: boolean[] = []
  const others = [page(storage).client, page(storage).client]
  for (const { session: other } of others) await other.read()
  const stops = others.map(({ session: other }) => other.onChange(({ signedIn: is }) => states.push(is)))
  await client.signOut()
  await vi.waitFor(() => expect(states).toHaveLength(2))
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(states).toEqual([false, false])
  expect(gateway.to('/auth/browser-session').filter(({ method }) => method === 'GET')).toHaveLength(5)
  for (const stop of stops) stop()
})

test('signOut: ends the session at the gateway', async () => {
  gateway = await scriptedGateway({ ...login, [session]: ok(signedIn(owner)) })
  const { client, storage } = page()
  await client.signIn(credentials)
  await client.signOut()
  expect(gateway.to('/browser-session/end')).toHaveLength(1)
  expect([...storage.items.keys()]).toEqual(['portico:CONSUMER:client-hash'])
})

test('a second client of the page, such as one in another language, does not act for an account of another tab', async () => {
  const asked = [ok(signedIn(owner)), ok(signedIn(member))]
  gateway = await scriptedGateway({ ...login, [session]: asked, [wallets]: ok([wallet]) })
  const shared = sharedStorage()
  const mine = { ...shared }
  const of = (locale: 'en' | 'ja') =>
    createClient({
      baseUrl: gateway.baseUrl,
      portal: 'CONSUMER',
      accessCode: 'x',
      session: 'cookie',
      seal: 'none',
      storage: mine,
      locale,
    })
  await of('en').session.read()
  await page(shared).client.signIn(credentials)
  await expect(of('ja').listWallets()).rejects.toHaveProperty('code', 'CLIENT.SIGNED_IN_ELSEWHERE')
  expect(gateway.to('/wallets')).toEqual([])
})
