import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import * as z from 'zod'
import { type Domain, domain } from '../../src/api/domain.ts'
import { anonymous, member, own } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Call, send } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import type { WholeSettings } from '../harness/settings.ts'
import { signIn } from '../harness/sign-in.ts'
import { type Service, startService } from './pass-through-world.ts'

const common = { chains: ['consumer'], refuses: [], body: 'none' } as const
const inWorkspace = { ...member, channel: 'none', workspace: 'required', permission: 'wallet:read' } as const

export const Parcel = z.object({
  bizId: z.string(),
  note: z.string(),
  weight: z.int(),
  items: z.array(z.object({ name: z.string(), at: z.string() })),
  prices: z.record(z.string(), z.string()),
})

async function* events() {
  yield { data: 'here' }
}

/** Each service replies with its own note. */
const parcels: Domain = domain({
  name: 'parcels',
  summary: 'Parcels of a workspace.',
  operations: {
    readParcel: operation({
      ...common,
      id: 'parcels.read',
      method: 'GET',
      path: '/parcels/latest',
      summary: 'Read a parcel',
      policy: inWorkspace,
      reply: Parcel,
      refuses: ['RESOURCE.NOT_FOUND'],
    }),
    readOwn: operation({
      ...common,
      id: 'parcels.readOwn',
      method: 'GET',
      path: '/parcels/own',
      summary: 'Read the own parcel',
      policy: { ...own, channel: 'none' },
      reply: Parcel,
    }),
    readOffer: operation({
      ...common,
      id: 'parcels.readOffer',
      method: 'GET',
      path: '/parcels/offer',
      summary: 'Read an offer',
      policy: { ...anonymous, channel: 'none' },
      reply: Parcel,
    }),
    sendParcel: operation({
      ...common,
      id: 'parcels.send',
      method: 'POST',
      path: '/parcels',
      summary: 'Send a parcel',
      policy: { ...inWorkspace, idempotent: true },
      body: z.strictObject({ note: z.string() }),
      reply: Parcel,
    }),
    watchParcels: operation({
      ...common,
      id: 'parcels.watch',
      method: 'GET',
      path: '/parcels/events',
      summary: 'Watch parcels',
      policy: inWorkspace,
      reply: 'events',
    }),
  },
  create: () => ({
    handlers: {
      readParcel: async () => parcel('here'),
      readOwn: async () => parcel('here'),
      readOffer: async () => parcel('here'),
      sendParcel: async () => parcel('here'),
      watchParcels: async () => events(),
    },
  }),
})

export const paths = {
  read: '/web/v1/consumer/parcels/latest',
  own: '/web/v1/consumer/parcels/own',
  offer: '/web/v1/consumer/parcels/offer',
  send: '/web/v1/consumer/parcels',
  watch: '/web/v1/consumer/parcels/events',
} as const

export type Parcel = z.input<typeof Parcel>

export function parcel(note: string, changed: Partial<Parcel> = {}): Parcel {
  const items = [{ name: 'book', at: '2026-01-01T00:00:00Z' }]
  return { bizId: 'one', note, weight: 1, items, prices: { USD: '1.00' }, ...changed }
}

export function replyWith(body: unknown, status = 200) {
  return (_request: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Deduplicates by key, as a service must. `executed` has the key of each command that took effect. */
export function storeOf(note: string) {
  const executed: string[] = []
  return {
    executed,
    handle: (request: IncomingMessage, response: ServerResponse): void => {
      if (request.headers.accept === 'text/event-stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${note}\n\n`)
        return
      }
      const key = String(request.headers['idempotency-key'] ?? '')
      if (request.method === 'POST' && !executed.includes(key)) executed.push(key)
      void text(request).then(() => replyWith(parcel(note))(request, response))
    },
  }
}

export interface TrialWorld {
  portico: Portico
  backend: Service
  next: Service
  account: string
  get(path: string, call?: Call): ReturnType<typeof send>
  /** The idempotency key of the client. */
  post(key: string): ReturnType<typeof send>
  explain(requestId: string): Promise<{ trial?: { servedBy: string; rule: string; shadow: string | null } }>
  metric(name: string): Promise<string[]>
  reload(place: WholeSettings['backends'][string]): Promise<void>
  stop(): Promise<void>
}

export const { workspace } = developmentIds

/** Two services can serve the domain `parcels`. */
export async function startTrialWorld(
  placeOf: (backend: string, next: string) => WholeSettings['backends'][string],
): Promise<TrialWorld> {
  const [backend, next] = [await startService(), await startService()]
  const portico = await startPortico({
    domains: [parcels],
    adjust: ({ backends }) => {
      backends.parcels = placeOf(`${backend.url}/old`, `${next.url}/new`)
    },
  })
  portico.expectFault(({ operation: id }) => /^parcels\./.test(String(id)))
  const { accessToken: token } = await signIn(portico)
  const { body } = await portico.call('GET', '/web/v1/consumer/profile', { token })
  const get: TrialWorld['get'] = (path, call = {}) =>
    send(portico.urls[0] ?? '', 'GET', path, { token, workspace, ...call })
  return {
    portico,
    backend,
    next,
    account: body.data.bizId,
    get,
    post: (key) =>
      send(portico.urls[0] ?? '', 'POST', paths.send, {
        ...{ token, workspace, body: { note: 'a note' } },
        headers: { 'idempotency-key': `"${key}"` },
      }),
    explain: async (requestId) => (await (await fetch(`${portico.operationsUrl}/explain/${requestId}`)).json())[0],
    metric: async (name) => {
      const lines = (await (await fetch(`${portico.operationsUrl}/metrics`)).text()).split('\n')
      return lines.filter((line) => line.startsWith(`${name}{`))
    },
    reload: (place) => {
      const { running, settings } = portico
      return running.reload({ ...settings, backends: { ...settings.backends, parcels: place } })
    },
    stop: async () => {
      await portico.stop()
      backend.close()
      next.close()
    },
  }
}
