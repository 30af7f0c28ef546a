import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { needsPostgres } from '../harness/needs.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { createClient, sendRequest, signedIn } from './client.ts'

const postgres = await seededPostgres()
afterAll(() => postgres?.stop())

const services = Array.from({ length: 6 }, (_, index) => `service-${index}`)
/** No name resolves during the test, so what waits for one takes longer. */
const maxSeconds = 60
const policy = { caller: 'anonymous', workspace: 'none', permission: null, stepUp: false, rate: 'general' }

describe('the host names of services resolve slowly', needsPostgres(postgres), () => {
  let gateway: PorticoProcess
  let folder = ''
  const client = createClient(() => [gateway])

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-slow-names-'))
    const fifo = join(folder, 'fifo')
    execFileSync('mkfifo', [fifo])
    const url = new URL(postgres?.url ?? '')
    url.hostname = 'localhost'
    gateway = await startConfigured(
      {
        DATABASE_URL: url.href,
        PORTICO_TEST_FIFO: fifo,
        PORTICO_RATE_LIMIT_SCALE: '1000',
        LOG_LEVEL: 'fatal',
      },
      {
        // Long enough for a busy machine.
        database: { connectTimeoutMs: 20_000 },
        passThrough: services.map((name) => ({
          prefix: `/web/v1/consumer/${name}`,
          url: `http://${name}.slow.test:8080`,
          audience: name,
          policy,
        })),
      },
      'gateway',
      ['--import', './test/faults/slow-names.mjs'],
    )
  })
  afterAll(async () => {
    gateway?.child.kill('SIGUSR2')
    await gateway?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('503 for their own callers only: sign-in, money and files need threads, too', async () => {
    const pages = services.flatMap((name) =>
      [1, 2].map(async () => {
        const start = performance.now()
        const { status, body } = await client.call('GET', `/web/v1/consumer/${name}/page`)
        return { status, code: body?.code, seconds: (performance.now() - start) / 1000 }
      }),
    )
    await new Promise((resolve) => setTimeout(resolve, 500))
    const start = performance.now()
    const user = await signedIn(client)
    expect((await sendRequest(user, 'GET', '/wallets')).status).toBe(200)
    expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(200)
    expect((performance.now() - start) / 1000).toBeLessThan(maxSeconds)
    for (const page of await Promise.all(pages)) {
      expect([page.status, page.code]).toEqual([503, 'SYSTEM.UNAVAILABLE'])
      expect(page.seconds).toBeLessThan(maxSeconds)
    }
    // New connections to the database need the address of `localhost`.
    await new Promise((resolve) => setTimeout(resolve, 11_000))
    expect((await signedIn(client)).token).not.toBe(user.token)
  })
})
