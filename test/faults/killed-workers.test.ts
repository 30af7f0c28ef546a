import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { startConfigured } from '../harness/configured.ts'
import { haproxyIsInstalled, startHaproxy } from '../harness/haproxy.ts'
import { requiredHeaders } from '../harness/http.ts'
import { needs, needsPostgres, needsRedis } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx } from '../harness/nginx.ts'
import { freePort } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { startRedis } from '../harness/redis.ts'
import { longTimeouts, root } from '../harness/settings.ts'
import { type Attempt, createClient, signedIn, transfer, type User } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'
import { pidOf, type Read, type Readers, readers, untilReady } from './workers-world.ts'

const postgres = await seededPostgres()
const redis = await startRedis()
afterAll(async () => {
  await redis?.stop()
  await postgres?.stop()
})

function blocks(file: string, language: string): string[] {
  const guide = readFileSync(join(root, 'docs/guides', file), 'utf8')
  return [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text)
}

const [haproxyBackend = ''] = blocks('load-balancers.md', 'haproxy')
const [nginxConfiguration = ''] = blocks('load-balancers.md', 'nginx')
const [haproxyServers = '', nginxUpstreams = '', nginxLocations = ''] = blocks('workers.md', 'text').filter((text) =>
  /^(retries|upstream|location) /.test(text),
)

/**
 * Together at most 1,000 reads a second. With as many connections to one killed worker, a balancer that repeats reads on
 * kept connections loses some.
 */
const reading = { count: 200, intervalMs: 200 }

/** Every other one first stops until requests wait for it, so that some break in any case. */
const kills = [
  { worker: 1, stopsFirst: true },
  { worker: 2, stopsFirst: false },
  { worker: 1, stopsFirst: false },
  { worker: 2, stopsFirst: true },
]

describe('a load balancer in front of two workers', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  let gateway: Awaited<ReturnType<typeof startConfigured>>
  /** The transfers of all tests, which the balance shows. */
  const sent: Attempt[] = []

  beforeAll(async () => {
    const variables = {
      DATABASE_URL: postgres?.url ?? '',
      REDIS_URL: redis?.url ?? '',
      PORTICO_RATE_LIMIT_SCALE: '100000',
    }
    const configuration = { database: longTimeouts, redis: { commandTimeoutMs: 1_000 } }
    gateway = await startConfigured(variables, configuration, 'gateway', [], ['--workers', '2'])
    await untilReady(gateway)
  })
  afterAll(() => gateway?.stop())

  const killInTurn = async ({ outcomes, waiting }: Readers): Promise<void> => {
    for (const { worker, stopsFirst } of kills) {
      const [pid, before] = [pidOf(gateway, worker), outcomes.length]
      await expect.poll(() => outcomes.length).toBeGreaterThan(before + 1_000)
      if (stopsFirst) process.kill(pid, 'SIGSTOP')
      await expect.poll(() => !stopsFirst || waiting(200) > 2).toBe(true)
      process.kill(pid, 'SIGKILL')
      await expect.poll(() => pidOf(gateway, worker), { timeout: 60_000 }).not.toBe(pid)
      await untilReady(gateway)
    }
  }

  const expectNoReadLost = async (url: string): Promise<void> => {
    const user = await signedIn(createClient(() => [{ url, operationsUrl: gateway.operationsUrl }]))
    const reads = readers(url, { ...reading, read: () => walletsOf(user) })
    const transfers = slowTransfers(user)
    await killInTurn(reads)
    const statuses = (await reads.stop()).map(({ status }) => status)
    sent.push(...(await transfers.stop()))
    expect(statuses.filter((status) => status !== 200)).toEqual([])
    await checkBook({ url: postgres?.url ?? '' }, await settleAll(user, sent))
  }

  test(
    'HAProxy as documented: workers are killed in turn, no read is lost, and each transfer happens once',
    needs(haproxyIsInstalled(), 'HAProxy is not installed'),
    async () => {
      const backend = (haproxyBackend + haproxyServers)
        .replaceAll(/^(backend| {2}server) .*\n/gm, '')
        .replaceAll('127.0.0.1:8080', `${new URL(gateway.url).host} port ${new URL(gateway.operationsUrl).port}`)
        // The machine may be busy, and both servers have the same check.
        .replace('timeout check 3s', 'timeout check 60s')
      const haproxy = await startHaproxy(backend.trim().split('\n'))
      try {
        await expectNoReadLost(haproxy.url)
      } finally {
        await haproxy.stop()
      }
    },
  )

  test(
    'nginx as documented: workers are killed in turn, no read is lost, and each transfer happens once',
    needs(nginxIsInstalled(), 'nginx is not installed'),
    async () => {
      const port = await freePort()
      const location = /^ {2}location \/ \{\n(.*?)^ {2}\}\n/ms
      const [, directives = ''] = location.exec(nginxConfiguration) ?? []
      const locations = nginxLocations
        .replace('# and the directives of the configuration except proxy_pass', directives.replace(/proxy_pass.*/, ''))
        .replace('# and the directives of the configuration', directives)
      const http = nginxConfiguration
        .replace(/^upstream .*?^\}\n/ms, nginxUpstreams)
        .replace(location, () => locations)
        .replaceAll('127.0.0.1:8080', new URL(gateway.url).host)
        .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
        .replaceAll(/^ *ssl_certificate.*\n/gm, '')
        .replaceAll('$scheme', 'https')
      const nginx = await startNginx({}, http)
      try {
        await expectNoReadLost(`http://127.0.0.1:${port}`)
      } finally {
        await nginx.stop()
      }
    },
  )
})

function walletsOf({ token }: User): Read {
  const headers = { authorization: `Bearer ${token}`, 'x-workspace-id': developmentIds.workspace }
  return { path: '/web/v1/consumer/wallets', headers: { ...requiredHeaders(), ...headers } }
}

/** Few, because the test settles each one afterwards. */
function slowTransfers(user: User): { stop(): Promise<Attempt[]> } {
  const attempts: Attempt[] = []
  let isStopped = false
  const work = async () => {
    while (!isStopped) {
      attempts.push(await transfer(user))
      await pause(100)
    }
  }
  const all = Promise.all([work(), work()])
  return {
    stop: async () => {
      isStopped = true
      await all
      return attempts
    },
  }
}
