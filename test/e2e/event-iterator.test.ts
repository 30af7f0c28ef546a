import { type ChildProcess, spawn } from 'node:child_process'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient, type SessionMode, serverEvents } from '../../src/client/index.ts'
import { member } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { startConfigured } from '../harness/configured.ts'
import { freePort } from '../harness/postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { codeIn, outboxOf } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

/** The operation of examples/notifications/notifications.yaml. */
const notifications = {
  watchNotifications: operation({
    id: 'notifications.watch',
    method: 'GET',
    path: '/notifications/events',
    chains: ['consumer'],
    summary: 'Watch the notifications of a workspace',
    policy: { ...member, channel: 'none', workspace: 'required', permission: null },
    body: 'none',
    reply: 'events',
    refuses: [],
  }),
}

/** A browser's storage and cookies, which all tabs share. */
function browser() {
  const items = new Map<string, string>()
  let cookie = ''
  const fetchWithCookie: typeof fetch = async (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('sec-fetch-site', 'same-origin')
    if (cookie !== '') headers.set('cookie', cookie)
    const response = await fetch(input, { ...init, headers })
    const [set] = response.headers.getSetCookie()
    if (set !== undefined) cookie = set.includes('Max-Age=0') ? '' : (set.split(';', 1)[0] ?? '')
    return response
  }
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  }
  return { storage, fetchWithCookie }
}

function openTab<M extends SessionMode>(
  session: M,
  baseUrl: string,
  { storage, fetchWithCookie }: ReturnType<typeof browser>,
) {
  const common = { baseUrl, portal: 'CONSUMER', accessCode: 'consumer-dev', edgeHeaders: true, storage } as const
  const fetch = session === 'cookie' ? fetchWithCookie : globalThis.fetch
  return createClient({ ...common, session, fetch, contract: [notifications] })
}

describe.each(['tokens', 'cookie'] as const)('events, with a session in mode %s', (mode) => {
  let store: TestStore
  let gateway: PorticoProcess
  let service: ChildProcess
  let serviceUrl: string
  let restart: () => Promise<PorticoProcess>

  const publish = (text: string) =>
    fetch(`${serviceUrl}/publish`, {
      method: 'POST',
      body: JSON.stringify({ workspace: developmentIds.workspace, text }),
    })

  beforeEach(async () => {
    const [port, PORT, OPS_PORT] = [await freePort(), String(await freePort()), String(await freePort())]
    serviceUrl = `http://127.0.0.1:${port}`
    store = await createStore()
    const backends = { notifications: { url: serviceUrl, audience: 'notifications-service' } }
    const operations = ['examples/notifications/notifications.yaml']
    restart = () => startConfigured({ ...store.variables, PORT, OPS_PORT }, { operations, backends })
    gateway = await restart()
    service = spawn(process.execPath, ['examples/notifications/service.mjs'], {
      cwd: root,
      env: { ...process.env, PORT: String(port), PORTICO_JWKS: `${gateway.operationsUrl}/.well-known/jwks.json` },
    })
    await vi.waitFor(async () => expect((await fetch(serviceUrl)).status).toBe(401), { timeout: 60_000 })
  })
  afterEach(async () => {
    service?.kill()
    await gateway?.stop()
    await store?.remove()
  })

  test('a restart of the gateway loses no event, and a sign-out in another tab ends the stream', async () => {
    const tabs = browser()
    const client = openTab(mode, gateway.url, tabs)
    const code = async () => codeIn((await outboxOf(gateway)('owner@demo.test', 'login-code')).text)
    await client.signIn({ email: 'owner@demo.test', password: 'Portico-demo-2026', code })
    const received = serverEvents(client.watchNotifications, { workspaceId: developmentIds.workspace })
    const next = async () => (await received.next()).value

    const first = next()
    // The service sends only what is published after the stream has opened.
    const publishing = setInterval(() => void publish('first'), 200)
    const { id } = (await first) ?? expect.fail('no event')
    clearInterval(publishing)
    await publish('before')
    let last = await next()
    while (last && JSON.parse(last.data).text === 'first') last = await next()
    expect(last).toMatchObject({ event: 'message', data: '{"text":"before"}' })

    await gateway.stop()
    await publish('missed')
    const missed = next()
    gateway = await restart()
    await publish('after')
    const [one, two] = [await missed, await next()]
    expect([one?.data, two?.data]).toEqual(['{"text":"missed"}', '{"text":"after"}'])
    expect([one?.id, two?.id].map(Number)).toEqual([Number(last?.id) + 1, Number(last?.id) + 2])
    expect(Number(last?.id)).toBeGreaterThan(Number(id))

    const end = expect(received.next()).rejects.toMatchObject({
      code: expect.stringMatching(/^ACCESS\.TOKEN_(MISSING|INVALID)$/),
    })
    await openTab(mode, gateway.url, tabs).signOut()
    await end
  })
})
