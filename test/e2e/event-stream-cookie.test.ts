import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { memoryStorage } from '../../src/client/session/storage.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { fromOwnPage, openPage, type Page, stepUpOn } from '../harness/browser.ts'
import { needsStore } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn } from '../harness/sign-in.ts'
import { readEvents } from './event-streams-world.ts'

const { mainUsd, savingsUsd, workspace } = developmentIds
const path = '/web/v1/consumer/events/stream'

/** A session that has a cookie instead of tokens. */
describe('events in cookie mode', needsStore('embedded'), () => {
  let portico: Portico
  let page: Page
  beforeAll(async () => {
    portico = await startPortico()
    page = await openPage(portico)
    await stepUpOn(portico, page)
  })
  afterAll(() => portico?.stop())

  const transfer = async (): Promise<string> => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD' }
    const { status, text, body: reply } = await page.call('POST', '/transfer/command/create', { workspace, body })
    expect(status, text).toBe(200)
    return reply.data.bizId
  }
  const ticketUrl = async (by = page): Promise<string> => {
    const { status, text, body } = await by.call('POST', '/auth/browser-session/ticket', { workspace, body: { path } })
    expect(status, text).toBe(200)
    return body.data.url
  }
  /** As EventSource: with the cookie, and no header of the interface. */
  const open = (url: string, { cookie } = page) =>
    fetch(portico.url + url, { headers: { ...fromOwnPage, cookie, accept: 'text/event-stream' } })

  test('events.stream 200: EventSource opens it once by a ticket, and gets the events of the workspace', async () => {
    const url = await ticketUrl()
    const stream = readEvents(await open(url))
    await expect.poll(stream.lastId).not.toBe('')
    const order = await transfer()
    await expect.poll(() => stream.events.map(({ data }) => data.subject)).toContain(order)
    const again = await open(url)
    expect([again.status, (await again.json()).code]).toEqual([403, 'ACCESS.TICKET_INVALID'])
    await stream.cancel()
  })

  test('events.stream: a stream that a ticket opened ends with its session', async () => {
    const other = await openPage(portico)
    const response = await open(await ticketUrl(other), other)
    expect(response.status).toBe(200)
    const stream = readEvents(response)
    expect((await other.call('POST', '/auth/browser-session/end')).status).toBe(200)
    await stream.ended.catch(() => undefined)
  })

  test('client.events(): a client with a cookie gets each event, and stops with `break`', async () => {
    let cookie = ''
    const fetchAsBrowser: typeof fetch = async (input, init) => {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(fromOwnPage)) headers.set(name, value)
      if (cookie !== '') headers.set('cookie', cookie)
      const response = await fetch(input, { ...init, headers })
      cookie = response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? cookie
      return response
    }
    const client = createClient({
      baseUrl: portico.url,
      portal: 'CONSUMER',
      accessCode: 'consumer-dev',
      edgeHeaders: { clientIp: '203.0.113.7', country: 'DE' },
      session: 'cookie',
      storage: memoryStorage(),
      fetch: fetchAsBrowser,
    })
    const email = 'owner@demo.test'
    const code = async () => codeIn((await portico.mailTo(email, 'login-code')).text)
    await client.signIn({ email, password: 'Portico-demo-2026', code })
    const { latestCursor } = await client.listEvents({ workspaceId: workspace, query: {} })
    const orders = [await transfer(), await transfer()]
    const seen: string[] = []
    for await (const { event } of client.events({
      workspaceId: workspace,
      after: latestCursor,
      types: ['transfer.completed'],
    })) {
      seen.push(event.subject)
      if (seen.length === 2) orders.push(await transfer())
      if (seen.length === 3) break
    }
    expect(seen).toEqual(orders)
    client.close()
  })
})
