import dns from 'node:dns'
import { once } from 'node:events'
import { createServer, get, type Server } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { openBlobs } from '../../../src/platform/blobs/index.ts'
import { openRedis } from '../../../src/platform/redis/index.ts'
import { shareResolver } from '../../../src/platform/runtime/index.ts'
import { needsRedis } from '../../harness/needs.ts'
import { startRedisCluster } from '../../harness/redis-cluster.ts'

const [node] = await startRedisCluster(1)

/** Names in the order of their look-ups, each of which takes this long. */
let names: string[] = []
let lookUpMs = 0
let endLookUps: (() => void)[] = []
const resolved = [{ address: '127.0.0.1', family: 4 }]
function slowly() {
  return new Promise<typeof resolved>((resolve) => {
    setTimeout(resolve, lookUpMs, resolved).unref()
    endLookUps.push(() => resolve(resolved))
  })
}

const credentials = { AccessKeyId: 'id', SecretAccessKey: 'secret', Token: 'a', Expiration: '2999-01-01T00:00:00Z' }
const role = 'portico'
let server: Server
let port = 0
let requests = 0
beforeAll(async () => {
  shareResolver()
  server = createServer((request, response) => {
    requests += 1
    if (request.method === 'PUT') response.end('token')
    else if (request.url?.endsWith('/security-credentials/')) response.end(role)
    else if (request.url?.startsWith('/portico/')) response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    else response.end(JSON.stringify({ ...credentials, Code: 'Success' }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
})
afterAll(() => {
  server?.closeAllConnections()
  server?.close()
})
beforeEach(() => {
  names = []
  endLookUps = []
  lookUpMs = 300
  requests = 0
  vi.spyOn(dns.promises, 'lookup').mockImplementation((async (name: string) => {
    names.push(name)
    return slowly()
  }) as unknown as typeof dns.promises.lookup)
})
afterEach(() => {
  for (const end of endLookUps) end()
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** Reads from a bucket at an address, with credentials from a host. */
async function readBlob(variables: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries({
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  }))
    vi.stubEnv(name, value)
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  const location = { bucket: 'portico', region: 'us-east-1', forcePathStyle: true, prefix: '', timeoutMs: 5_000 }
  const blobs = await openBlobs({ kind: 's3', endpoint: `http://127.0.0.1:${port}`, ...location }, '')
  await blobs.get('files/01990000-0000-7000-8000-000000000001').finally(() => blobs.close())
}

const connectors: [string, string, (host: string) => Promise<unknown>][] = [
  ['the global fetch of an extension', 'fetch.test', (host) => fetch(`http://${host}/`).then((reply) => reply.text())],
  [
    'http.get of an extension',
    'get.test',
    async (host) => {
      const [response] = await once(get(`http://${host}/`, { agent: false }), 'response')
      response.resume()
    },
  ],
  [
    'credentials of an EC2 instance',
    'metadata.test',
    (host) => readBlob({ AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://${host}` }),
  ],
  [
    'credentials of an ECS container',
    'localhost',
    (host) => readBlob({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://${host}/credentials` }),
  ],
]

describe('connections that name no resolver use the shared one', () => {
  test.each(connectors)('%s: two connections to a slow name need one look-up', async (_, name, open) => {
    await open(`${name}:${port}`)
    await open(`${name}:${port}`)
    expect(names).toEqual([name])
    expect(requests).toBeGreaterThanOrEqual(2)
  })

  test.each(connectors.slice(0, 3))('%s: a name that does not resolve fails within seconds', async (_, name, open) => {
    lookUpMs = 60_000
    const start = performance.now()
    await expect(open(`silent-${name}:${port}`)).rejects.toThrow()
    expect(performance.now() - start).toBeLessThan(10_000)
    expect(new Set(names)).toEqual(new Set([`silent-${name}`]))
  })
})

describe('a Redis Cluster that announces host names', needsRedis(node), () => {
  afterAll(() => node?.stop())

  test('its nodes and its subscriber need one look-up', async () => {
    const name = 'redis.test'
    await node?.sendRequest(`CONFIG SET cluster-announce-hostname ${name}`)
    await node?.sendRequest('CONFIG SET cluster-preferred-endpoint-type hostname')
    const errors: Error[] = []
    const redis = await openRedis({
      ...{ url: node?.url ?? '', cluster: true, connectTimeoutMs: 5_000, commandTimeoutMs: 5_000 },
      ...{ onError: (error: Error) => void errors.push(error), onReady: () => undefined, onEvicting: () => undefined },
    })
    const texts: string[] = []
    redis.subscribe('news', (text) => void texts.push(text))
    const publish = async () => {
      await redis.command('PUBLISH', 'news', 'a')
      return texts.length
    }
    await expect.poll(publish, { timeout: 10_000 }).toBeGreaterThan(0)
    expect(names).toEqual([name])
    await redis.close()
  })
})

test('dns.lookup: accepts the forms that Node accepts, and leaves addresses to Node', async () => {
  lookUpMs = 0
  const answer = (...parameters: unknown[]) =>
    new Promise((resolve) => {
      Reflect.apply(dns.lookup, dns, [...parameters, (...results: unknown[]) => resolve(results)])
    })
  expect(await answer('forms.test')).toEqual([null, '127.0.0.1', 4])
  expect(await answer('forms.test', 4)).toEqual([null, '127.0.0.1', 4])
  expect(await answer('forms.test', { all: true })).toEqual([null, resolved])
  expect(await answer('forms.test', 6)).toMatchObject([{ code: 'ENOTFOUND' }, []])
  expect(await promisify(dns.lookup)('forms.test')).toEqual({ address: '127.0.0.1', family: 4 })
  expect(await promisify(dns.lookup)('forms.test', { all: true })).toEqual(resolved)
  expect(names).toEqual(['forms.test'])
  expect(await answer('::1')).toEqual([null, '::1', 6])
  const socket = connect(port, 'forms.test')
  await once(socket, 'connect')
  socket.destroy()
  expect(names).toEqual(['forms.test'])
})
