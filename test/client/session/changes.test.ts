import { afterEach, describe, expect, test, vi } from 'vitest'
import { createClient, type SessionState } from '../../../src/client/index.ts'
import { begun, completed, pair, sent } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
  for (const close of closing.splice(0)) await close()
  await gateway.close()
})

const auth = '/web/v1/consumer/auth'
const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026', code: () => '123456' }
const owner = '01933b6e-7c1a-7e0a-8f35-00000000000a'
const iso = (at: number) => new Date(at).toISOString()

function signedIn(idleMs: number, accountBizId = owner): Step {
  return (seen, response) =>
    ok({
      signedIn: true,
      accountBizId,
      portal: 'CONSUMER',
      idleExpiresAt: iso(Date.now() + idleMs),
      expiresAt: iso(Date.now() + 3_600_000),
      steppedUpUntil: null,
      workspaceBizId: null,
      permissionCodes: ['wallet:read'],
    })(seen, response)
}
const signedOut = ok({ signedIn: false })

const script: Record<string, Step | Step[]> = {
  [`POST ${auth}/login/initiate`]: ok(begun),
  [`POST ${auth}/login/mfa/send`]: ok(sent),
  [`POST ${auth}/login/complete`]: ok(completed),
  [`POST ${auth}/logout`]: ok({ success: true, terminatedSessions: 1 }),
  [`POST ${auth}/browser-session`]: ok({ sessionId: 's', isNewDevice: true, expiresIn: 43_200, idleExpiresIn: 1_800 }),
  [`POST ${auth}/browser-session/end`]: ok({ success: true, terminatedSessions: 1 }),
  [`POST ${auth}/token/refresh`]: refuse(404, 'AUTH.SESSION_NOT_FOUND'),
}

function sharedStorage() {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  }
}

function tab<M extends 'cookie' | 'tokens'>(session: M, storage = sharedStorage(), onSignedOut = () => undefined) {
  const base = { baseUrl: gateway.baseUrl, portal: 'CONSUMER', accessCode: 'x', seal: 'none' } as const
  const client = createClient({ ...base, session, storage: { ...storage }, onSignedOut })
  closing.push(() => client.close())
  return client
}

function heard(session: { onChange(listener: (state: SessionState) => void): () => void }) {
  const states: SessionState[] = []
  const stop = session.onChange((state) => states.push(state))
  return { states, stop }
}

describe('state, cookie mode', () => {
  test('is null at first, then the account, its permissions and the ends of the session, then signed out', async () => {
    gateway = await scriptedGateway({ ...script, [`GET ${auth}/browser-session`]: signedIn(60_000) })
    const { session, signIn, signOut } = tab('cookie')
    expect(session.state).toBeNull()
    await signIn(credentials)
    expect(session.state).toMatchObject({
      signedIn: true,
      accountBizId: owner,
      permissionCodes: ['wallet:read'],
      expiresAt: expect.any(String),
      idleExpiresAt: expect.any(String),
    })
    await signOut()
    expect(session.state).toEqual({ signedIn: false })
  })

  test('a sign-out in another tab: the state, onChange and onSignedOut follow without a call', async () => {
    const asked = [signedIn(60_000), signedIn(60_000), signedOut]
    gateway = await scriptedGateway({ ...script, [`GET ${auth}/browser-session`]: asked })
    const storage = sharedStorage()
    const onSignedOut = vi.fn(() => undefined)
    const [one, two] = [tab('cookie', storage), tab('cookie', storage, onSignedOut)]
    await one.signIn(credentials)
    await two.session.read()
    const { states } = heard(two.session)
    await one.signOut()
    await vi.waitFor(() => expect(states).toEqual([{ signedIn: false }]))
    expect(two.session.state).toEqual({ signedIn: false })
    expect(onSignedOut).toHaveBeenCalledOnce()
  })

  test('a sign-in as another account in another tab: the state and onChange show it', async () => {
    const asked = [signedIn(60_000), signedIn(60_000, 'other')]
    gateway = await scriptedGateway({ ...script, [`GET ${auth}/browser-session`]: asked })
    const storage = sharedStorage()
    const [one, two] = [tab('cookie', storage), tab('cookie', storage)]
    await two.session.read()
    const { states } = heard(two.session)
    await one.signIn(credentials)
    await vi.waitFor(() => expect(states[0]).toMatchObject({ accountBizId: 'other' }))
    expect(two.session.state).toMatchObject({ accountBizId: 'other' })
  })
})

describe('the known end of the session, cookie mode', () => {
  const asksAfter = async (asked: Step[], ms: number) => {
    gateway = await scriptedGateway({ ...script, [`GET ${auth}/browser-session`]: asked })
    const client = tab('cookie')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { states, stop } = heard(client.session)
    await client.session.read()
    await vi.advanceTimersByTimeAsync(ms)
    return { client, states, stop }
  }
  const count = () => gateway.to('/browser-session').length

  test('asks the gateway when the idle limit has passed, and then calls onChange', async () => {
    const { states } = await asksAfter([signedIn(60_000), signedOut], 59_000)
    expect(count()).toBe(1)
    await vi.advanceTimersByTimeAsync(1_100)
    await vi.waitFor(() => expect(states).toEqual([{ signedIn: false }]))
    expect(count()).toBe(2)
  })

  test('does not call onChange if another tab has prolonged the session, and asks again at the next end', async () => {
    const { client, states } = await asksAfter([signedIn(60_000), signedIn(600_000), signedOut], 0)
    const before = client.session.state
    await vi.advanceTimersByTimeAsync(60_100)
    await vi.waitFor(() => expect(client.session.state).not.toBe(before))
    await vi.advanceTimersByTimeAsync(590_000)
    expect([states, count()]).toEqual([[], 2])
    await vi.advanceTimersByTimeAsync(11_000)
    await vi.waitFor(() => expect(states).toEqual([{ signedIn: false }]))
  })

  test('a session without a known end: the gateway is not asked in a loop', async () => {
    await asksAfter([ok({ signedIn: true, accountBizId: owner })], 0)
    for (let step = 0; step < 20; step++) {
      await vi.advanceTimersByTimeAsync(50)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(count()).toBe(1)
  })

  test('asks again after a failure', async () => {
    const { states } = await asksAfter([signedIn(60_000), refuse(503, 'SYSTEM.UNAVAILABLE'), signedOut], 60_100)
    await vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(5_000)
      expect(states).toEqual([{ signedIn: false }])
    })
    expect(count()).toBe(3)
  })

  test('`close` and removing the last listener release the timer', async () => {
    const { client, stop } = await asksAfter([signedIn(60_000)], 0)
    stop()
    await vi.advanceTimersByTimeAsync(120_000)
    const again = heard(client.session)
    await client.close()
    await vi.advanceTimersByTimeAsync(120_000)
    expect([again.states, count()]).toEqual([[], 1])
  })
})

describe('onChange, token mode', () => {
  test('a sign-in, a sign-out and another account are seen in another tab without a call, a renewal is not', async () => {
    gateway = await scriptedGateway(script)
    const storage = sharedStorage()
    const onSignedOut = vi.fn(() => undefined)
    const [one, two] = [tab('tokens', storage), tab('tokens', storage, onSignedOut)]
    const { states, stop } = heard(two.session)
    const tokenOf = (sub: string) => `e30.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.x`
    await one.session.adopt({ ...pair('1'), accessToken: tokenOf('ada') })
    await vi.waitFor(() => expect(states).toEqual([{ signedIn: true, accountBizId: 'ada' }]))
    await two.session.tokens()
    await one.session.adopt({ ...pair('2'), accessToken: tokenOf('ada') })
    await one.signOut()
    await vi.waitFor(() => expect(states.slice(1)).toEqual([{ signedIn: false }]))
    expect(onSignedOut).toHaveBeenCalledOnce()
    await one.session.adopt({ ...pair('3'), accessToken: tokenOf('grace') })
    await vi.waitFor(() => expect(states.at(-1)).toEqual({ signedIn: true, accountBizId: 'grace' }))
    stop()
    await one.session.clear()
    expect(states).toHaveLength(3)
  })

  test('the end of a session that a renewal finds is seen in this and in another tab', async () => {
    gateway = await scriptedGateway(script)
    const storage = sharedStorage()
    const [one, two] = [tab('tokens', storage), tab('tokens', storage)]
    await one.session.adopt(pair('1'))
    const [here, there] = [heard(one.session), heard(two.session)]
    await one.session.renew(pair('1'))
    await vi.waitFor(() => expect([here.states, there.states]).toEqual([[{ signedIn: false }], [{ signedIn: false }]]))
  })
})

describe.each(['cookie', 'tokens'] as const)('without BroadcastChannel, %s', (mode) => {
  test('storage events of the same key report a change of another tab', async () => {
    gateway = await scriptedGateway({ ...script, [`GET ${auth}/browser-session`]: [signedIn(60_000), signedOut] })
    vi.stubGlobal('BroadcastChannel', undefined)
    vi.stubGlobal(
      'StorageEvent',
      class extends Event {
        readonly key: string
        constructor(key: string) {
          super('storage')
          this.key = key
        }
      },
    )
    const page = new EventTarget()
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
    const storage = sharedStorage()
    const client = tab(mode, storage)
    if (mode === 'tokens') await client.signIn(credentials)
    else if ('read' in client.session) await client.session.read()
    const { states, stop } = heard(client.session)
    const key = mode === 'tokens' ? 'portico:CONSUMER:tokens' : 'portico:CONSUMER:account'
    const fire = (changed: string) => page.dispatchEvent(Reflect.construct(StorageEvent, [changed]))
    fire('another')
    storage.removeItem(key)
    fire(key)
    await vi.waitFor(() => expect(states).toEqual([{ signedIn: false }]))
    stop()
    fire(key)
    expect(states).toHaveLength(1)
  })
})
