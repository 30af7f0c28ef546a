import { type ChildProcess, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { developmentIds } from '../../src/seed/development.ts'
import { startConfigured } from '../harness/configured.ts'
import { requiredHeaders, send } from '../harness/http.ts'
import { freePort } from '../harness/postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { outboxOf, signIn } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'
import { readerOf } from './pass-through-world.ts'

const Example = z.object({
  operations: z.array(z.string()),
  backends: z.object({ notifications: z.object({ url: z.string(), audience: z.string() }) }),
})
const { workspace } = developmentIds

describe('the example service for notifications', () => {
  let store: TestStore
  let gateway: PorticoProcess
  let service: ChildProcess
  let token: string
  let url: string

  const publish = (text: string, to: string = workspace) =>
    fetch(`${url}/publish`, { method: 'POST', body: JSON.stringify({ workspace: to, text }) })
  const watch = (extra: Record<string, string> = {}) =>
    fetch(`${gateway.url}/web/v1/consumer/notifications/events`, {
      headers: { ...requiredHeaders(), authorization: `Bearer ${token}`, 'x-workspace-id': workspace, ...extra },
    })

  beforeAll(async () => {
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    store = await createStore()
    const example = Example.parse(load(await readFile('examples/notifications/portico.yaml', 'utf8')))
    const notifications = { ...example.backends.notifications, url }
    gateway = await startConfigured(store.variables, { ...example, backends: { notifications } })
    service = spawn(process.execPath, ['examples/notifications/service.mjs'], {
      cwd: root,
      env: { ...process.env, PORT: String(port), PORTICO_JWKS: `${gateway.operationsUrl}/.well-known/jwks.json` },
    })
    await vi.waitFor(async () => expect((await fetch(url)).status).toBe(401), { timeout: 60_000 })
    const mailTo = outboxOf(gateway)
    const call = (method: string, path: string, options = {}) => send(gateway.url, method, path, options)
    token = (await signIn({ call, mailTo }, 'owner@demo.test')).accessToken
  })
  afterAll(async () => {
    service?.kill()
    await gateway?.stop()
    await store?.remove()
  })

  test('notifications.watch 200: the notifications of the workspace arrive, and no others', async () => {
    const response = await watch()
    expect(response.status).toBe(200)
    const reader = readerOf(response)
    expect(await reader.next()).toBe(': open\n\n')
    await publish('for somebody else', '01990000-0000-7000-8000-0000000000ff')
    await publish('it has arrived')
    expect(await reader.next()).toBe('id: 2\ndata: {"text":"it has arrived"}\n\n')
    await reader.cancel()
  })

  test('notifications.watch 200: a client that reconnects gets what it has missed', async () => {
    await publish('missed')
    const reader = readerOf(await watch({ 'last-event-id': '2' }))
    let text = ''
    while (!text.includes('missed')) text += await reader.next()
    expect(text).toBe(': open\n\nid: 3\ndata: {"text":"missed"}\n\n')
    await reader.cancel()
  })

  test('notifications.watch 401 ACCESS.TOKEN_MISSING: without a token', async () => {
    const response = await watch({ authorization: '' })
    expect([response.status, (await response.json()).code]).toEqual([401, 'ACCESS.TOKEN_MISSING'])
  })
})
