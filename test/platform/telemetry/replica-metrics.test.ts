import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { addMs } from '../../../src/kernel/index.ts'
import { BlobsUnavailable } from '../../../src/platform/blobs/blobs.ts'
import { withBlobMetrics } from '../../../src/platform/blobs/index.ts'
import { withMailMetrics } from '../../../src/platform/mail/index.ts'
import {
  createBlobMetrics,
  createBuildMetrics,
  createDiskMetrics,
  createEventMetrics,
  createExchangeMetrics,
  createMailMetrics,
  createMetrics,
  createPoolMetrics,
  createRedisMetrics,
  createTrafficMetrics,
  createWebhookMetrics,
} from '../../../src/platform/telemetry/index.ts'
import { testClock } from '../../identity/clock.ts'

const registry = new Registry()

async function samples(name: string): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n')
  return lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length))
}

test('portico_build_info: versions and role, always 1', async () => {
  createBuildMetrics(registry, { version: '0.1.0', role: 'gateway' })
  expect(await samples('portico_build_info')).toEqual([
    `{version="0.1.0",node="${process.versions.node}",role="gateway"} 1`,
  ])
})

test('portico_database_connections: the pool as of the scrape', async () => {
  let inUse = 2
  createPoolMetrics(registry, () => ({ inUse, size: 10 }))
  inUse = 9
  expect(await samples('portico_database_connections_')).toEqual(['max 10', 'in_use 9'])
})

test('portico_data_free_bytes: NaN without an own disk, and if the disk cannot be read', async () => {
  const fails = () => Promise.reject(new Error('no such directory'))
  for (const [read, value] of [
    [async () => 5, '5'],
    [fails, 'Nan'],
    [null, 'Nan'],
  ] as const) {
    registry.removeSingleMetric('portico_data_free_bytes')
    createDiskMetrics(registry, read)
    expect(await samples('portico_data_free_bytes')).toEqual([` ${value}`])
  }
})

test('portico_mail_attempts_total: attempts by outcome, from 0; the error still reaches the caller', async () => {
  let works = true
  const send = async () => {
    if (!works) throw new Error('refused')
  }
  const mailer = withMailMetrics({ send, close: async () => undefined }, createMailMetrics(registry))
  const mail = { to: 'a@demo.test', template: 'account-exists', locale: 'en', values: { url: '' } } as const
  expect(await samples('portico_mail_attempts_total')).toEqual(['{outcome="sent"} 0', '{outcome="failed"} 0'])
  await mailer.send(mail)
  works = false
  for (const _ of [1, 2]) await expect(mailer.send(mail)).rejects.toThrow('refused')
  expect(await samples('portico_mail_attempts_total')).toEqual(['{outcome="sent"} 1', '{outcome="failed"} 2'])
})

test('portico_blob_seconds: failures of the store differ from those of a client', async () => {
  const fails = (error: Error) => () => Promise.reject(error)
  const blobs = withBlobMetrics(
    {
      put: fails(new Error('the client broke off')),
      get: fails(new BlobsUnavailable(new Error('gone'))),
      delete: async () => undefined,
      check: async () => undefined,
      close: async () => undefined,
    },
    createBlobMetrics(registry),
  )
  expect(await samples('portico_blob_seconds_count')).toHaveLength(9)
  await blobs.delete('key')
  await expect(blobs.get('key')).rejects.toThrow('gone')
  await expect(blobs.put('key', Readable.from([]))).rejects.toThrow('broke off')
  expect((await samples('portico_blob_seconds_count')).filter((line) => !line.endsWith(' 0'))).toEqual([
    '{operation="put",outcome="aborted"} 1',
    '{operation="get",outcome="failed"} 1',
    '{operation="delete",outcome="ok"} 1',
  ])
})

test('portico_http_bytes_total: open and closed connections, without losing a byte', async () => {
  const count = createTrafficMetrics(registry)
  const accepted = Promise.withResolvers<Socket>()
  const server = createServer((socket) => {
    count(socket)
    accepted.resolve(socket.resume())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const client = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  const socket = await accepted.promise
  client.write('four')
  socket.write('twelve bytes')
  await once(client, 'data')
  const counts = ['{direction="received"} 4', '{direction="sent"} 12']
  await expect.poll(() => samples('portico_http_bytes_total')).toEqual(counts)
  client.destroy()
  await once(socket, 'close')
  expect(await samples('portico_http_bytes_total')).toEqual(counts)
  server.close()
})

test('portico_server_errors_total: status 5xx except 501, from 0', async () => {
  const metrics = createMetrics()
  const count = async () => /^portico_server_errors_total (\d+)$/m.exec((await metrics.expose()).text)?.[1]
  expect(await count()).toBe('0')
  for (const status of [200, 404, 501, null, 500, 503])
    metrics.startRequest()({ operation: 'wallets.list', status, code: null })
  expect(await count()).toBe('2')
})

test('portico_redis_memory: both gauges of a scrape come from one reading', async () => {
  let readings = 0
  createRedisMetrics(registry, async () => ({ used: ++readings, max: 10 * readings }))
  for (const lines of [
    ['max_bytes 10', 'bytes 1'],
    ['max_bytes 20', 'bytes 2'],
  ])
    expect(await samples('portico_redis_memory_')).toEqual(lines)
})

test('gauges of one query: every one has its value in the first scrape', async () => {
  const clock = testClock()
  const ports = { clock, onFault: () => undefined }
  createEventMetrics(registry, {
    ...ports,
    read: async () => ({ waiting: 1, failed: 2, since: addMs(clock.now(), -3_000) }),
  })
  createExchangeMetrics(registry, { ...ports, readGains: async () => ({ triangle: 4, unquotedPairs: 5 }) })
  createWebhookMetrics(registry, {
    ...ports,
    count: async () => ({ waiting: 6, byStatus: new Map([['ACTIVE', 7]]) }),
    observe: () => undefined,
  })
  const text = await registry.metrics()
  for (const line of [
    'portico_events_waiting 1',
    'portico_events_set_aside 2',
    'portico_events_lag_seconds 3',
    'portico_exchange_triangle_gain 4',
    'portico_exchange_unquoted_pairs 5',
    'portico_webhook_deliveries_waiting 6',
    'portico_webhooks{status="ACTIVE"} 7',
  ])
    expect(text).toContain(`\n${line}\n`)
})
