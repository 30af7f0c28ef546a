import { once } from 'node:events'
import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { member } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { promises, startPortico, type TestPortico } from '../../src/testing/index.ts'

const common = {
  chains: ['consumer'],
  policy: { ...member, channel: 'none', workspace: 'required', permission: null },
  refuses: [],
} as const

const contract = {
  watchFeed: operation({
    ...common,
    id: 'feed.watch',
    method: 'GET',
    path: '/feed/events',
    summary: 'Watch a feed',
    body: 'none',
    reply: 'events',
  }),
  talkToFeed: operation({
    ...common,
    id: 'feed.talk',
    method: 'GET',
    path: '/feed/socket',
    summary: 'Talk to a feed',
    body: 'none',
    reply: 'socket',
  }),
  importFeed: operation({
    ...common,
    id: 'feed.import',
    method: 'POST',
    path: '/feed/import',
    summary: 'Import a feed',
    body: 'raw',
    reply: 'raw',
  }),
}

const feed = domain({ name: 'feed', summary: 'Feeds.', operations: contract, create: () => ({ handlers: {} }) })

promises(
  [feed],
  { describe, test, beforeAll, afterAll, expect },
  {
    settings: { backends: { feed: { url: 'http://127.0.0.1:9' } } },
    openToReaders: ['feed.import'],
  },
)

describe('the typed client of operations that are passed through', () => {
  const service = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    if (request.method === 'POST') response.writeHead(201, { 'content-type': 'text/plain' }).end(body)
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: 1\n\n')
  })
  let gateway: TestPortico<readonly [typeof contract]>
  beforeAll(async () => {
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    const address = service.address()
    const url = typeof address === 'object' && address ? `http://127.0.0.1:${address.port}` : ''
    const settings = { backends: { feed: { url } } }
    gateway = await startPortico({ domains: [...bankingDomains, feed], settings, contract: [contract] })
  })
  afterAll(async () => {
    await gateway?.stop()
    service.close()
  })

  test('events and raw replies resolve with the response, and a socket has no method', async () => {
    const owner = await gateway.signInConsumer('owner@demo.test')
    const { workspace: workspaceId } = developmentIds
    const events = await owner.watchFeed({ workspaceId })
    expect([events.headers.get('content-type'), await events.text()]).toEqual([
      'text/event-stream; charset=utf-8',
      'data: 1\n\n',
    ])
    const imported = await owner.importFeed({ workspaceId, body: 'a;b' })
    expect([imported.status, await imported.text()]).toEqual([201, 'a;b'])
    expect('talkToFeed' in owner).toBe(false)
  })

  test('a refusal rejects with its code', async () => {
    const owner = await gateway.signInConsumer('owner@demo.test')
    // @ts-expect-error the operation requires a workspace
    await expect(owner.watchFeed({})).rejects.toMatchObject({ status: 400, code: 'ACCESS.WORKSPACE_REQUIRED' })
  })
})
