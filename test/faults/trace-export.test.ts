import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shellBlocks } from '../docs/shell-blocks.ts'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import { type ReceivedSpan, startCollector } from '../harness/otlp.ts'
import { freePort } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { type PorticoProcess, startCommand } from '../harness/process.ts'
import { startRedis } from '../harness/redis.ts'
import { root } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'
import { createClient, sendRequest, signedIn, type User } from './client.ts'

const postgres = await seededPostgres()
const redis = await startRedis()
const { directory, remove } = await seededDirectory()
const requirements = { ...needsPostgres(postgres), ...needsRedis(redis) }

afterAll(async () => {
  await redis?.stop()
  await postgres?.stop()
  await remove()
})

/** The variables of the guide, with our collector. */
function guideVariables(collectorUrl: string): NodeJS.ProcessEnv {
  const command = shellBlocks().find(({ script }) => script.startsWith('OTEL_EXPORTER_OTLP_ENDPOINT='))?.script ?? ''
  const pairs = [...command.matchAll(/(OTEL_\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  return { ...Object.fromEntries(pairs), OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl }
}

/** As the entry point of the image. Only environment variables concern traces. */
function startImage(variables: NodeJS.ProcessEnv): Promise<PorticoProcess> {
  return startCommand([process.execPath, 'bin/portico.js', 'serve'], {}, { env: { ...process.env, ...variables } })
}

test('without the optional packages, the process ends with 1 and names them', () => {
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) => {
      if (name.includes('otlp-proto')) throw Object.assign(new Error(name), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context)
    } })`
  const imported = `data:text/javascript,${encodeURIComponent(hook)}`
  const variables = { PORTICO_DATA_DIR: directory, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }
  const { status, stderr } = spawnSync(process.execPath, ['--import', imported, 'bin/portico.js', 'serve'], {
    cwd: root,
    env: { ...process.env, ...variables },
    encoding: 'utf8',
  })
  expect(stderr).toMatch(
    /^portico: OTEL_EXPORTER_OTLP_ENDPOINT needs optional packages: npm install .*@opentelemetry\/exporter-trace-otlp-proto/m,
  )
  expect(status).toBe(1)
})

describe('traces of the image, by environment variables only', requirements, () => {
  const received: IncomingHttpHeaders[] = []
  const service = createServer((request, response) => {
    received.push(request.headers)
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
  })
  let collector: Awaited<ReturnType<typeof startCollector>>
  let gateway: PorticoProcess
  let user: User
  const linesWith = (text: string) =>
    gateway
      .output()
      .split('\n')
      .filter((line) => line.includes(text))
  const listWallets = () => sendRequest(user, 'GET', '/wallets')
  const requestsOf = () => collector.spans.filter(({ name }) => name === 'wallets.list')

  beforeAll(async () => {
    const port = await freePort()
    service.listen(port, '127.0.0.1')
    collector = await startCollector()
    const file = join(directory, 'traces.yaml')
    await writeFile(file, `backends: { wallets: { url: http://127.0.0.1:${port}, audience: wallets } }\n`)
    gateway = await startImage({
      DATABASE_URL: postgres?.url,
      REDIS_URL: redis?.url,
      PORTICO_DATA_DIR: directory,
      PORTICO_CONFIG: file,
      ...guideVariables(collector.url),
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=portal',
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    })
    user = await signedIn(createClient(() => [gateway]))
  })
  afterAll(async () => {
    await gateway?.stop()
    await collector?.stop()
    service.close()
  })

  test('one trace has the spans of the request, the service, PostgreSQL and Redis', async () => {
    await listWallets()
    await expect.poll(requestsOf).toHaveLength(1)
    const [request] = requestsOf()
    const below = (): ReceivedSpan[] => collector.spans.filter(({ parentId }) => parentId === request?.spanId)
    const systems = () => new Set(below().map(({ attributes }) => attributes['db.system.name'] ?? 'http'))
    await expect.poll(systems).toEqual(new Set(['http', 'postgresql', 'redis']))
    expect(new Set(below().map(({ traceId, kind }) => `${traceId} ${kind}`))).toEqual(
      new Set([`${request?.traceId} 3`]),
    )
    const client = below().find(({ attributes }) => attributes['url.template'] !== undefined)
    expect(client).toMatchObject({
      name: 'GET /web/v1/consumer/wallets',
      attributes: { 'server.address': '127.0.0.1', 'http.response.status_code': 200 },
    })
    expect(received.at(-1)?.traceparent).toBe(`00-${request?.traceId}-${client?.spanId}-01`)
    const statement = below().find(({ attributes }) => attributes['db.system.name'] === 'postgresql')
    expect(statement).toMatchObject({
      name: statement?.attributes['db.query.summary'],
      attributes: { 'db.operation.name': 'SELECT', 'db.namespace': 'postgres', 'server.address': '127.0.0.1' },
    })
    expect(below().find(({ name }) => name === 'EVALSHA')?.attributes).toMatchObject({
      'db.operation.name': 'EVALSHA',
      'db.stored_procedure.name': expect.stringMatching(/^[0-9a-f]{40}$/),
    })
    expect(request?.resource).toMatchObject({
      'service.name': 'portal',
      'service.version': expect.any(String),
      'service.instance.id': expect.stringMatching(/-\d+$/),
      'deployment.environment.name': 'staging',
    })
    expect(collector.requests[0]).toMatchObject({ path: '/v1/traces', headers: { 'x-tenant': 'portal' } })
  })

  test('no span contains a value of a statement, a key or a person', async () => {
    const text = JSON.stringify(collector.spans)
    expect(collector.spans.length).toBeGreaterThan(20)
    for (const secret of ['owner@demo.test', user.token, '203.0.113', '$1', 'portico:', 'select "'])
      expect(text).not.toContain(secret)
  })

  test('a failing collector costs one line, not a request; the line names the reason', async () => {
    await collector.stop()
    const failed = () => linesWith('traces cannot be exported')
    await listWallets()
    await expect.poll(failed).toHaveLength(1)
    for (let round = 0; round < 3; round++) {
      expect((await listWallets()).status).toBe(200)
      await pause(150)
    }
    expect(failed()).toHaveLength(1)
    expect(failed()[0]).toContain('ECONNREFUSED')
    collector = await startCollector(collector.port)
    await expect
      .poll(async () => {
        await listWallets()
        return linesWith('traces are exported again')
      })
      .toHaveLength(1)
  })

  test('SIGTERM sends the rest, and ends with 0', async () => {
    const before = requestsOf().length
    await listWallets()
    expect(await gateway.stop()).toBe(0)
    expect(requestsOf().length).toBeGreaterThan(before)
    expect(linesWith('shutdown timed out')).toEqual([])
  })
})
