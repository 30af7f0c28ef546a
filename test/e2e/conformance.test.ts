import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listWallets } from '../../src/banking/wallets/contract.ts'
import { checkDeployment } from '../../src/conformance/index.ts'
import { rateGroups } from '../../src/kernel/index.ts'
import { runCli } from '../harness/cli.ts'
import { startConfigured } from '../harness/configured.ts'
import { send } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { root } from '../harness/settings.ts'
import { createStore, type TestStore } from '../harness/store.ts'

async function conformance(target: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['bin/portico.js', 'conformance', '--target', target], { cwd: root })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  await once(child, 'close')
  return { code: child.exitCode, output }
}

/** Passes on all request headers but one. */
async function startEdge(target: string, dropped: string): Promise<{ url: string; stop(): void }> {
  const edge = createServer((request, response) => {
    const headers = { ...request.headers }
    delete headers[dropped]
    const onward = forward(target + request.url, { method: request.method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    request.pipe(onward)
  })
  await once(edge.listen(0, '127.0.0.1'), 'listening')
  const { port } = edge.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, stop: () => edge.close() }
}

describe('portico conformance', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  test('a Portico deployment passes: a table and exit code 0', async () => {
    const { code, output } = await conformance(portico.url)
    expect(output).toContain('a token is required')
    expect(output).not.toContain(' not\n')
    expect(code, output).toBe(0)
  })

  test.each([
    ['cookie', 'an unknown session cookie is refused'],
    ['sec-fetch-site', 'an unknown session cookie is refused'],
    ['origin', 'a session cookie from another origin is refused'],
  ])('an edge that drops %s is found', async (dropped, check) => {
    const edge = await startEdge(portico.url, dropped)
    const target = { url: edge.url, accessCodes: { CONSUMER: 'consumer-dev' }, edgeHeaders: true, pause }
    const results = await checkDeployment({ ...target, requestId: randomUUID }, [listWallets], () => {})
    edge.stop()
    const failed = results.filter(({ findings }) => findings.length > 0)
    expect(failed.map((result) => result.check)).toContain(check)
  })

  test('a limit that does not clear in time is reported separately: exit code 0', async () => {
    const limited = await startPortico({
      adjust: (settings) => {
        settings.limits.scale = 1
        settings.limits.address.limit = 100_000
        for (const group of rateGroups)
          settings.limits.groups[group] = { account: { limit: 100_000, windowMs: 60_000 } }
        settings.limits.groups.password = { address: { limit: 1, windowMs: 900_000 } }
      },
    })
    const { code, output } = await conformance(limited.url)
    await limited.stop()
    expect(output).toMatch(/^a token is required +\d+ {2}ok, 2 limited$/m)
    expect(output).not.toContain('RATE_LIMITED')
    expect(code, output).toBe(0)
  })

  test('another server fails: the findings are listed, exit code 1', async () => {
    const other = createServer((_request, response) => response.end('{"hello":"world"}'))
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const address = other.address()
    const { code, output } = await conformance(
      `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    )
    other.close()
    expect(code).toBe(1)
    expect(output).toContain('auth.logout on consumer: expected 401 ACCESS.TOKEN_MISSING, got 200 and no envelope')
  })
})

// In other topologies, `serve` cannot create the tables of the extension.
describe('a gateway with an extension and a document', () => {
  const configuration = {
    extensions: ['./examples/loans/index.ts'],
    operations: ['examples/cards-service/cards.yaml'],
    domains: { loans: { maxAmount: '5000.00' } },
    backends: { cards: { url: 'http://127.0.0.1:9' } },
  }
  let store: TestStore
  let gateway: PorticoProcess
  beforeAll(async () => {
    store = await createStore()
    gateway = await startConfigured({ ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }, configuration)
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
  })
  const conformanceOf = (url: string) => runCli(['conformance', '--target', url], configuration)
  const requestsIn = (out: string): number => Number(/^a token is required +(\d+) /m.exec(out)?.[1])

  test('conformance checks their operations, too: exit code 0', async () => {
    const own = await runCli(['conformance', '--target', gateway.url], {})
    const { code, out, err } = await conformanceOf(gateway.url)
    expect(code, out + err).toBe(0)
    // loans.approve and cards.block are on one chain, the other four on two.
    expect(requestsIn(out) - requestsIn(own.out)).toBe(10)
  })

  test('conformance with a target that lacks them fails and names them: exit code 1', async () => {
    const portico = await startPortico()
    const { code, out } = await conformanceOf(portico.url)
    await portico.stop()
    expect(code).toBe(1)
    expect(out).toContain('loans.apply on consumer: expected 401 ACCESS.TOKEN_MISSING, got 404 ROUTE.NOT_FOUND')
  })

  test.each([
    ['loans.apply', 'POST', '/loans'],
    ['cards.list', 'GET', '/cards'],
  ])('explain names the operation %s and the stage that refused it', async (operation, method, path) => {
    const refused = await send(gateway.url, method, `/web/v1/consumer${path}`)
    expect(refused.body.code).toBe('ACCESS.TOKEN_MISSING')
    const explained = await fetch(`${gateway.operationsUrl}/explain/${refused.headers.get('x-request-id')}`)
    const [explanation] = await explained.json()
    expect(explanation).toMatchObject({ operation, chain: 'consumer', status: 401, code: 'ACCESS.TOKEN_MISSING' })
    expect(explanation.stages).toContainEqual(expect.objectContaining({ verdict: 'refused' }))
  })
})
