import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import * as z from 'zod'
import { type Domain, domain } from '../../src/api/domain.ts'
import type { Configuration } from '../../src/config/index.ts'
import { anonymous, member, own } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { createMovableDurations, type MovableDurations } from '../harness/durations.ts'
import { requiredHeaders } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const { workspace } = developmentIds
const chains = ['consumer'] as const
const common = { chains, refuses: [], method: 'GET', body: 'none' } as const
const inWorkspace = { ...member, channel: 'none', workspace: 'required', permission: 'wallet:read' } as const

const feed: Domain = domain({
  name: 'feed',
  summary: 'Events of a workspace.',
  operations: {
    watchFeed: operation({
      ...common,
      id: 'feed.watch',
      path: '/feed/{feed_id}/events',
      summary: 'Watch a feed',
      policy: inWorkspace,
      query: z.strictObject({ kind: z.enum(['all', 'own']).optional() }),
      reply: 'events',
    }),
    watchNews: operation({
      ...common,
      id: 'feed.news',
      path: '/feed/news',
      summary: 'Watch the news',
      policy: { ...anonymous, channel: 'none' },
      reply: 'events',
    }),
    readReport: operation({
      ...common,
      id: 'feed.report',
      path: '/feed/report',
      summary: 'Read a report',
      policy: inWorkspace,
      query: z.strictObject({ year: z.coerce.number().int().optional() }),
      reply: 'raw',
    }),
    importFeed: operation({
      ...common,
      id: 'feed.import',
      path: '/feed/import',
      summary: 'Import a feed',
      method: 'POST',
      policy: { ...own, channel: 'none' },
      body: 'raw',
      reply: 'raw',
    }),
    renderFeed: operation({
      ...common,
      id: 'feed.render',
      path: '/feed/render',
      summary: 'Render a feed',
      method: 'POST',
      policy: { ...own, channel: 'none' },
      body: z.strictObject({ title: z.string() }),
      reply: 'raw',
    }),
  },
  create: () => ({ handlers: {} }),
})

export type Handle = (request: IncomingMessage, response: ServerResponse) => void

const feedId = '01990000-0000-7000-8000-00000000feed'
export const paths = {
  watch: `/web/v1/consumer/feed/${feedId}/events`,
  news: '/web/v1/consumer/feed/news',
  report: '/web/v1/consumer/feed/report',
  import: '/web/v1/consumer/feed/import',
  render: '/web/v1/consumer/feed/render',
  legacy: '/web/v1/consumer/legacy',
}

export async function startService() {
  let handle: Handle = (_request, response) => void response.end()
  const requests: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    requests.push(request)
    handle(request, response)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no address')
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    respond: (next: Handle) => {
      requests.length = 0
      handle = next
    },
    destroyConnections: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

export type Service = Awaited<ReturnType<typeof startService>>

/** Returns a function that sends another event. */
export function openEvents(response: ServerResponse): (text: string) => boolean {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'set-cookie': 'a=b', connection: 'keep-alive' })
  const send = (text: string): boolean => response.write(`data: ${text}\n\n`)
  send('first')
  return send
}

export function readerOf(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!reader) throw new Error('no body')
  return {
    /** Resolves with null at the end. */
    next: async (): Promise<string | null> => (await reader.read()).value ?? null,
    /** Rejects if the stream breaks off. */
    end: async (): Promise<void> => {
      for (;;) if ((await reader.read()).done) return
    },
    cancel: () => reader.cancel(),
  }
}

export interface PassThroughWorld {
  durations: MovableDurations
  portico: Portico
  service: Service
  session: Session
  headers(extra?: Record<string, string | null>): Record<string, string>
  open(path: string, extra?: Record<string, string | null>, init?: RequestInit): Promise<Response>
  metric(name: string): Promise<string[]>
  stop(): Promise<void>
}

/** A service handles the domain `feed`. */
export async function startPassThroughWorld(
  adjust: (settings: Configuration, url: string) => void = () => undefined,
): Promise<PassThroughWorld> {
  const service = await startService()
  const durations = createMovableDurations()
  const portico = await startPortico({
    durations,
    domains: [feed],
    adjust: (settings) => {
      const audience = 'service-under-test'
      const limits = { timeoutMs: 2_000, streamTimeoutMs: 5_000, maxStreamBytes: 1_000_000 }
      const breaker = { failures: 1_000, openMs: 200 }
      settings.backends = {
        ...settings.backends,
        feed: upstreamAt(`${service.url}/base`, { audience, breaker, ...limits }),
      }
      settings.streams = { ...settings.streams, maxPerAccount: 4 }
      adjust(settings, service.url)
    },
  })
  portico.expectFault(({ operation }) => /^(feed|passThrough)\./.test(String(operation)))
  const session = await signIn(portico)
  const headers: PassThroughWorld['headers'] = (extra = {}) => {
    const all = new Headers(requiredHeaders())
    all.delete('content-type')
    all.set('authorization', `Bearer ${session.accessToken}`)
    all.set('x-workspace-id', workspace)
    for (const [name, value] of Object.entries(extra)) {
      if (value === null) all.delete(name)
      else all.set(name, value)
    }
    return Object.fromEntries(all)
  }
  return {
    durations,
    portico,
    service,
    session,
    headers,
    open: (path, extra, init = {}) =>
      fetch(`${portico.urls[0]}${path}`, { headers: headers(extra), redirect: 'manual', ...init }),
    metric: async (name) => {
      const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
      return text.split('\n').filter((line) => line.startsWith(`${name}{`))
    },
    stop: async () => {
      await portico.stop()
      service.close()
    },
  }
}
