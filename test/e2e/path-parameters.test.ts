import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chains, pathParamNames } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Route, routes, unknownId } from '../harness/catalogue.ts'
import type { Answer } from '../harness/http.ts'
import { inTopology } from '../harness/needs.ts'
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

const parameterRoutes = routes.filter(({ operation }) => pathParamNames(operation.path).length > 0)

const pathWith = ({ chainId, operation }: Route, name: string, value: string): string =>
  chains[chainId].prefix +
  operation.path.replaceAll(/\{(\w+)\}/g, (_, each: string) => (each === name ? value : unknownId))

describe('an invalid path parameter', inTopology('embedded'), () => {
  let portico: Portico
  let recorder: Recorder
  let consumer: Session
  let operator: Session
  let apiKey = ''

  beforeAll(async () => {
    recorder = await startRecorder()
    portico = await startPortico({
      adjust: (settings) => {
        // This process creates the API key of the test.
        settings.backends = { default: upstreamAt(recorder.url), apiKeys: 'in-process' }
      },
    })
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

  const withoutInput = parameterRoutes.filter(
    ({ operation }) => operation.body === 'none' && !operation.id.startsWith('apiKeys.'),
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
