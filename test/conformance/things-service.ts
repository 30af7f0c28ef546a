import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { z } from 'zod'
import { Assertions, checkService, ServiceClient, type ServiceReport } from '../../src/conformance/service/index.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { member } from '../../src/contract/policies.ts'
import { bizId, isRecord, operation } from '../../src/kernel/index.ts'
import { systemClock, systemIds } from '../../src/platform/runtime/index.ts'
import { upstreamAt } from '../harness/settings.ts'

const Thing = z.object({ bizId: z.uuid(), name: z.string(), createdAt: z.iso.datetime() })
const policy = { ...member, workspace: 'required', permission: 'wallet:read' } as const
const common = { chains: ['consumer'], policy, refuses: ['RESOURCE.NOT_FOUND'] } as const
const read = { ...common, method: 'GET', body: 'none' } as const

const operations = [
  operation({
    ...read,
    id: 'things.list',
    path: '/things',
    summary: 'List things',
    reply: z.array(Thing),
    refuses: [],
  }),
  operation({ ...read, id: 'things.read', path: '/things/{thing_id}', summary: 'Read a thing', reply: Thing }),
  operation({
    ...common,
    id: 'things.create',
    method: 'POST',
    path: '/things',
    summary: 'Create a thing',
    policy: { ...policy, idempotent: true },
    body: z.strictObject({ name: z.string().min(1).max(20) }),
    reply: Thing,
  }),
]

interface ThingsReply {
  status: number
  /** Undefined for no body. */
  body?: unknown
  contentType?: string
}

export interface Behaviour {
  /** Options of jwtVerify to leave out. */
  ignores?: 'audience' | 'issuer' | 'typ' | 'currentDate'
  acceptsAnyone?: boolean
  /** Replaces the reply to a request with a valid assertion. */
  reply?(reply: ThingsReply, request: { operation: string; isRepeated: boolean }): ThingsReply
  /** Replaces the reply to a request with an invalid assertion. */
  rejection?: ThingsReply
  forgetsKeys?: boolean
  /** Uses X-Request-Id as the key. */
  usesRequestIds?: boolean
  ignoresOtherBodies?: boolean
  /** Number of calls for which the service knows no key. */
  callsWithoutKeys?: number
}

export function refusal(code: string): object {
  return { success: false, code, message: '', data: null }
}

function thingOf(id: string, name: string) {
  return { bizId: id, name, createdAt: '2026-01-01T00:00:00.000Z' }
}

/** Checks a service that serves things correctly, except for its behaviour. */
export async function checkThings(behaviour: Behaviour = {}): Promise<ServiceReport & { waited: number }> {
  const { ignores, acceptsAnyone = false, reply = (each) => each, rejection = { status: 401 } } = behaviour
  let { callsWithoutKeys = 0 } = behaviour
  const facts = { issuer: 'portico', audience: 'things' }
  const assertions = new Assertions(systemClock, systemIds, facts)
  const keys = createLocalJWKSet(assertions.jwks())
  const things = [thingOf(systemIds.next(), 'first')]
  const done = new Map<string, { body: string; thing: object }>()

  const isValid = async ({ headers: { authorization = '' } }: IncomingMessage): Promise<boolean> => {
    if (callsWithoutKeys-- > 0) return false
    if (acceptsAnyone) return true
    const expected = {
      ...facts,
      typ: 'portico-call+jwt',
      algorithms: ['EdDSA'],
      // With the epoch, no assertion has expired.
      currentDate: ignores === 'currentDate' ? new Date(0) : new Date(),
      clockTolerance: ignores === 'currentDate' ? Number.MAX_SAFE_INTEGER : 5,
    }
    if (ignores !== undefined && ignores !== 'currentDate') Reflect.deleteProperty(expected, ignores)
    return jwtVerify(authorization.replace('Bearer ', ''), keys, expected).then(
      () => true,
      () => false,
    )
  }

  const create = (key: string, body: string): ThingsReply => {
    const first = behaviour.forgetsKeys ? undefined : done.get(key)
    if (first && first.body !== body && !behaviour.ignoresOtherBodies)
      return { status: 422, body: refusal('REQUEST.ID_REUSED') }
    if (first) return { status: 200, body: first.thing }
    const input: unknown = JSON.parse(body)
    const thing = thingOf(systemIds.next(), isRecord(input) ? String(input.name) : '')
    things.push(thing)
    done.set(key, { body, thing })
    return { status: 200, body: thing }
  }

  const serve = (request: IncomingMessage, body: string): ThingsReply => {
    const key = String(request.headers[behaviour.usesRequestIds ? 'x-request-id' : 'idempotency-key'])
    const id = /^\/base\/web\/v1\/consumer\/things\/(.+)$/.exec(request.url ?? '')?.[1]
    const isRepeated = done.has(key)
    if (request.method === 'POST') return reply(create(key, body), { operation: 'things.create', isRepeated })
    if (id === undefined) return reply({ status: 200, body: things }, { operation: 'things.list', isRepeated })
    const thing = things.find((each) => each.bizId === id)
    const found = thing ? { status: 200, body: thing } : { status: 404, body: refusal('RESOURCE.NOT_FOUND') }
    return reply(found, { operation: 'things.read', isRepeated })
  }

  const server = createServer(async (request, response) => {
    const body = await text(request)
    const sent = (await isValid(request)) ? serve(request, body) : rejection
    response.writeHead(sent.status, { 'content-type': sent.contentType ?? 'application/json' })
    response.end(sent.body === undefined ? '' : JSON.stringify(sent.body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/base`
  const client = new ServiceClient(upstreamAt(url, { audience: 'things', timeoutMs: 5_000 }), bankingCatalogue.isCode)
  let waited = 0
  try {
    const report = await checkService({
      operations,
      client,
      assertions,
      keys: { url: 'http://127.0.0.1:9090/.well-known/jwks.json', fetches: () => (acceptsAnyone ? 0 : 1) },
      ids: systemIds,
      callerOf: () => ({
        portal: 'CONSUMER',
        caller: {
          accountId: bizId(systemIds.next()),
          portal: 'CONSUMER',
          sessionId: null,
          apiKeyId: null,
          steppedUpAt: null,
          permissions: new Set(),
        },
        workspace: { id: bizId(systemIds.next()), isOwner: true, permissions: new Set() },
      }),
      samplesOf: () => [{}, {}],
      pause: async () => undefined,
      onWaiting: () => {
        waited += 1
      },
    })
    return { ...report, waited }
  } finally {
    await client.close()
    server.close()
  }
}
