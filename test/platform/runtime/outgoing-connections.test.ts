import dns from 'node:dns'
import { afterEach, expect, test, vi } from 'vitest'
import { databaseTarget } from '../../../src/compose/store.ts'
import { openDatabase } from '../../../src/database/index.ts'
import { acquireSingletonLock } from '../../../src/database/postgres/singleton-lock.ts'
import { openBlobs } from '../../../src/platform/blobs/index.ts'
import { fetchText } from '../../../src/platform/http-client.ts'
import { openSmtpMailer, readMailTexts } from '../../../src/platform/mail/index.ts'
import { openRedis } from '../../../src/platform/redis/index.ts'
import { lookup } from '../../../src/platform/runtime/index.ts'
import { testSettings } from '../../harness/settings.ts'

function openRedisAt(url: string, cluster: boolean) {
  return openRedis({
    ...{ url, cluster, connectTimeoutMs: 5_000, commandTimeoutMs: 5_000 },
    ...{ onError: () => undefined, onReady: () => undefined, onEvicting: () => undefined },
  })
}

async function sendMailTo(url: string): Promise<void> {
  const mailer = await openSmtpMailer(
    { url, from: 'a@example.test', timeoutMs: 5_000 },
    await readMailTexts('assets/mails'),
  )
  const input = {
    to: 'b@example.test',
    locale: 'en',
    template: 'login-code',
    values: { code: '1', minutes: '5' },
  } as const
  await mailer.send(input).finally(() => mailer.close())
}

async function readBlobAt(endpoint: string): Promise<void> {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  const location = { bucket: 'portico', region: 'us-east-1', forcePathStyle: true, prefix: '', timeoutMs: 5_000 }
  const blobs = await openBlobs({ kind: 's3', endpoint, ...location }, '')
  await blobs.get('files/01990000-0000-7000-8000-000000000001', undefined).finally(() => blobs.close())
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

test.each<[string, (name: string) => Promise<unknown>]>([
  [
    'PostgreSQL',
    (name) => openDatabase(databaseTarget(testSettings({ DATABASE_URL: `postgres://a@${name}/a` }), () => undefined)),
  ],
  [
    'the singleton lock',
    (name) =>
      acquireSingletonLock({
        url: `postgres://a@${name}/a`,
        connectTimeoutMs: 5_000,
        lookup,
        onChange: () => undefined,
      }),
  ],
  ['Redis', (name) => openRedisAt(`redis://${name}`, false)],
  ['Redis with TLS', (name) => openRedisAt(`rediss://${name}`, false)],
  ['a Redis Cluster', (name) => openRedisAt(`redis://${name}`, true)],
  ['a Redis Cluster with TLS', (name) => openRedisAt(`rediss://${name}`, true)],
  [
    'exchange rates, CAPTCHAs and breached passwords',
    (name) => fetchText(`http://${name}/`, { timeoutMs: 5_000, maxBytes: 9 }),
  ],
  ['the mail server', (name) => sendMailTo(`smtp://${name}`)],
  ['the mail server with TLS', (name) => sendMailTo(`smtps://${name}`)],
  ['files in S3', (name) => readBlobAt(`http://${name}`)],
])('%s: the shared resolver looks up the host', async (_, open) => {
  const names: string[] = []
  vi.spyOn(dns.promises, 'lookup').mockImplementation((name: string) => {
    names.push(name)
    return Promise.reject(Object.assign(new Error('planted'), { code: 'ENOTFOUND' }))
  })
  const name = `host-${crypto.randomUUID()}.test`
  await expect(open(name)).rejects.toThrow()
  expect(new Set(names)).toEqual(new Set([name]))
})
