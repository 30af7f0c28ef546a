import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { type Domain, domain } from '../../src/api/domain.ts'
import { codeForMalformedParam, own } from '../../src/contract/policies.ts'
import { chains, operation, pathParamNames } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Route, routes, unknownId } from '../harness/catalogue.ts'
import type { Answer } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Recorder, startRecorder } from '../harness/recorder.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

/** As they appear in the request line. */
const hostile = [
  '..%2f..%2fx',
  '..%2F..%2F..%2Finternal%2Fusers',
  '%2f',
  'a%5c..%5c..%5cx',
  '%5c',
  '%00',
  `${unknownId}%00`,
  '%252e%252e',
  '%252e%252e%252fx',
  '%0a',
  `${unknownId}%0a`,
  '%0d%0ahost:%20x',
  '%7f',
  '%c2%85',
  '%3f',
  '%23x',
  ';x=1',
  '...',
  'x',
  '1',
  `${unknownId}x`,
  `x${unknownId}`,
  unknownId.replaceAll('-', ''),
  'a'.repeat(8_000),
]

/** The rows that do not list RESOURCE.NOT_FOUND. */
const isInvalidParameter = new Set(['transfers.completed', 'transfers.listOfWallet'])

/** Characters and dot segments that a proxy or a service could decode to another path. */
const unsafe = [
  '%2f',
  '%5c',
  '%00',
  '%25',
  '%0a',
  '%7f',
  '%c2%85',
  'a%2fb',
  '..%2fx',
  '%252e%252e',
  '..;x',
  '.;',
  '..;',
  ';..',
  '..%3bx',
  'a%3B..%3Bb',
]

const common = { method: 'GET', chains: ['consumer'], policy: own, body: 'none' } as const
const reply = z.object({ name: z.string() })

/** Operations with a text in the path. The domain `labels` is a service, and `notes` runs in this process. */
function added(name: 'labels' | 'notes'): Domain {
  const operations = {
    [`read${name}`]: operation({
      ...common,
      id: `${name}.read`,
      path: `/${name}/{name}`,
      summary: 'Read a text',
      params: { name: z.string().trim() },
      refuses: ['RESOURCE.NOT_FOUND'],
      reply,
    }),
    [`find${name}`]: operation({
      ...common,
      id: `${name}.find`,
      path: `/${name}/{name}/found`,
      summary: 'Find a text',
      params: { name: z.string().trim() },
      refuses: [],
      reply,
    }),
  }
  const handle = async ({ params: { name: value = '' } }: { params: Record<string, string> }) => ({ name: value })
  return domain({
    name,
    summary: 'Texts in the path.',
    operations,
    create: () => ({ handlers: Object.fromEntries(Object.keys(operations).map((key) => [key, handle])) }),
  })
}

const parameterRoutes = routes.filter(({ operation }) => pathParamNames(operation.path).length > 0)

function pathWith({ chainId, operation }: Route, name: string, value: string): string {
  return (
    chains[chainId].prefix +
    operation.path.replaceAll(/\{(\w+)\}/g, (_, each: string) => (each === name ? value : unknownId))
  )
}

describe('an invalid path parameter', () => {
  let portico: Portico
  let recorder: Recorder
  let consumer: Session
  let operator: Session
  let apiKey = ''

  beforeAll(async () => {
    recorder = await startRecorder()
    portico = await startPortico({
      domains: [added('labels'), added('notes')],
      adjust: (settings) => {
        settings.operations = ['test/harness/references.yaml']
        // This process creates the API key of the test.
        settings.backends = { default: upstreamAt(recorder.url), apiKeys: 'in-process', notes: 'in-process' }
      },
    })
    // The recorder refuses every request with a code that only some operations declare.
    portico.expectFault(({ internal }) => String(internal).includes('does not declare in `refuses`'))
    consumer = await signIn(portico)
    operator = await signIn(portico, 'operator@demo.test')
    const created = await portico.call('POST', '/web/v1/consumer/api-keys', {
      token: consumer.accessToken,
      workspace: developmentIds.workspace,
      body: { apiKeyName: 'Machine', permissionCodes: ['wallet:read', 'transfer:read'] },
    })
    apiKey = created.body.data.secret
  })
  afterAll(async () => {
    await portico?.stop()
    await recorder?.close()
  })
  beforeEach(() => {
    recorder.requests.length = 0
  })

  const request = ({ method, chainId }: Route, path: string): Promise<Answer> => {
    const body = method === 'POST' ? { body: {} } : {}
    if (chainId === 'api')
      return portico.call(method, path, { headers: { authorization: `Bearer ${apiKey}` }, ...body })
    const isSystem = chainId === 'system'
    return portico.call(method, path, {
      token: (isSystem ? operator : consumer).accessToken,
      ...(isSystem ? {} : { workspace: developmentIds.workspace }),
      ...body,
    })
  }

  test('the generated cases cover the catalogue', () => {
    expect(parameterRoutes.length).toBeGreaterThan(45)
  })

  test.each(parameterRoutes)('$name 404 or 400: refused before any backend', async (route) => {
    for (const name of pathParamNames(route.operation.path)) {
      const expected = isInvalidParameter.has(route.operation.id)
        ? [400, 'VALIDATION.INVALID_PARAMETER', true]
        : [404, 'RESOURCE.NOT_FOUND', false]
      for (const value of hostile) {
        const { status, body } = await request(route, pathWith(route, name, value))
        expect([status, body.code, body.message.includes(name)], value).toEqual(expected)
      }
      const undecodable = await request(route, pathWith(route, name, '%ff'))
      expect([undecodable.status, undecodable.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    }
    expect(recorder.requests).toEqual([])
  })

  const ownPaths: [string, string, string][] = [
    ...Object.values({ ...added('labels').operations, ...added('notes').operations }).map(
      (each): [string, string, string] => [each.id, each.path, codeForMalformedParam(each)],
    ),
    ['references.read', '/references/{reference}', 'RESOURCE.NOT_FOUND'],
  ]
  test.each(ownPaths)('%s at %s: an unsafe text is %s before any backend', async (id, path, code) => {
    const read = (value: string) =>
      portico.call('GET', `/web/v1/consumer${path.replace(/\{\w+\}/, value)}`, { token: consumer.accessToken })
    // The schema of the others trims this to a dot segment.
    for (const value of id === 'references.read' ? unsafe : [...unsafe, '%20..%20']) {
      const { status, body } = await read(value)
      expect([status, body.code], value).toEqual([code === 'RESOURCE.NOT_FOUND' ? 404 : 400, code])
    }
    expect(recorder.requests).toEqual([])
  })

  test.each(ownPaths)('%s at %s: a text with other special characters reaches the backend', async (id, path) => {
    const safe = ['a%20b', 'a;b=1', '...', '%3f%23', 'a..b', '%E4%B8%AD']
    const statuses: number[] = []
    for (const value of safe) {
      const url = `/web/v1/consumer${path.replace(/\{\w+\}/, value)}`
      statuses.push((await portico.call('GET', url, { token: consumer.accessToken })).status)
    }
    if (id.startsWith('notes.')) expect(statuses).toEqual(safe.map(() => 200))
    else expect(recorder.requests).toHaveLength(safe.length)
  })

  const withoutInput = parameterRoutes.filter(
    ({ operation }) => operation.body === 'none' && !/^(apiKeys|observations)\./.test(operation.id),
  )
  test.each(withoutInput)('$name: a UUID reaches the backend', async (route) => {
    await request(route, route.path)
    expect(recorder.requests).toHaveLength(1)
    expect(recorder.requests[0]).toContain(unknownId)
  })

  test('wallets.read: a UUID in capitals reaches the backend in lower case', async () => {
    const id = '01990000-0000-7000-8000-00000000beef'
    const path = `/web/v1/consumer/wallets/${id.toUpperCase()}`
    await portico.call('GET', path, { token: consumer.accessToken, workspace: developmentIds.workspace })
    expect(recorder.requests).toEqual([`GET /web/v1/consumer/wallets/${id}`])
  })

  test.each(['wallets/..%2fx', 'files/%00/download', 'transfer/query/orders/wallet/x'])(
    '%s 401 ACCESS.TOKEN_MISSING: authentication precedes validation',
    async (path) => {
      const { status, body } = await portico.call('GET', `/web/v1/consumer/${path}`)
      expect([status, body.code]).toEqual([401, 'ACCESS.TOKEN_MISSING'])
      expect(recorder.requests).toEqual([])
    },
  )
})
