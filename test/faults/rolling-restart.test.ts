import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { haproxyIsInstalled, startHaproxy } from '../harness/haproxy.ts'
import { needs, needsPostgres, needsRedis } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx } from '../harness/nginx.ts'
import { freePort } from '../harness/postgres.ts'
import { emptyPostgres } from '../harness/prepared-postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { startRedis } from '../harness/redis.ts'
import { longTimeouts, root } from '../harness/settings.ts'
import { type Attempt, createClient, sendRequest, signedIn, transfer, type User } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'

const postgres = await emptyPostgres({ synchronous_commit: 'on' })
const redis = await startRedis()
afterAll(async () => {
  await redis?.stop()
  await postgres?.stop()
})

const guide = readFileSync(join(root, 'docs/guides/load-balancers.md'), 'utf8')

function block(language: string): string {
  return (
    new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(guide)?.[1] ??
    expect.fail(`no ${language} in the guide`)
  )
}

interface Replica {
  port: number
  operationsPort: number
  process: PorticoProcess
}

/**
 * `shutdown` has the defaults of docs/guides/deploy.md, which the development profile shortens. With long timeouts, so that a
 * request cannot fail because the machine is busy.
 */
function startOn(port: number, operationsPort: number): Promise<PorticoProcess> {
  const variables = {
    DATABASE_URL: postgres?.url ?? '',
    REDIS_URL: redis?.url ?? '',
    PORTICO_RATE_LIMIT_SCALE: '1000',
    LOG_LEVEL: 'error',
    PORT: String(port),
    OPS_PORT: String(operationsPort),
  }
  return startConfigured(variables, {
    database: longTimeouts,
    redis: { commandTimeoutMs: 1_000 },
    shutdown: { delayMs: 5_000, timeoutMs: 20_000 },
    requests: { bodyTimeoutMs: 60_000 },
  })
}

async function startReplica(): Promise<Replica> {
  const [port, operationsPort] = [await freePort(), await freePort()]
  return { port, operationsPort, process: await startOn(port, operationsPort) }
}

/** Ends and starts the replica on the same ports. Returns the exit code. */
async function restart(replica: Replica): Promise<number | null> {
  const { stop, operationsUrl } = replica.process
  const stopping = stop()
  const readiness = async () => (await fetch(`${operationsUrl}/health/ready`).catch(() => null))?.status
  await expect.poll(readiness, { interval: 20 }).toBe(503)
  const code = await stopping
  replica.process = await startOn(replica.port, replica.operationsPort)
  return code
}

/** Clients that read and transfer in turn, with pauses: at most 100 requests per second. */
function load(user: User): { stop(): Promise<{ reads: number[]; transfers: Attempt[] }> } {
  const [reads, transfers]: [number[], Attempt[]] = [[], []]
  let isStopped = false
  const work = async () => {
    while (!isStopped) {
      const read = await sendRequest(user, 'GET', '/wallets').catch(() => null)
      reads.push(read?.status ?? 0)
      transfers.push(await transfer(user))
      await pause(100)
    }
  }
  const all = Promise.all(Array.from({ length: 5 }, work))
  return {
    stop: async () => {
      isStopped = true
      await all
      return { reads, transfers }
    },
  }
}

/** The name of the server that HAProxy chose. */
async function serverBehind(url: string): Promise<string | null> {
  const response = await fetch(`${url}/openapi.json`, { method: 'HEAD' })
  return response.headers.get('x-server')
}

async function expectNothingLost(url: string, during: () => Promise<void>): Promise<void> {
  const edge = { url, operationsUrl: replicas[0]?.process.operationsUrl ?? '' }
  const user = await signedIn(createClient(() => [edge]))
  const running = load(user)
  await during()
  const { reads, transfers } = await running.stop()
  sent.push(...transfers)
  expect(reads.filter((status) => status !== 200)).toEqual([])
  expect(transfers.filter(({ status }) => status !== 200)).toEqual([])
  await checkBook({ url: postgres?.url ?? '' }, await settleAll(user, sent))
}

const replicas: Replica[] = []
/** The transfers of all tests, which the balance shows. */
const sent: Attempt[] = []

describe('a rolling restart behind a load balancer', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  beforeAll(async () => {
    // On an empty database, one replica migrates while the other waits.
    replicas.push(...(await Promise.all([startReplica(), startReplica()])))
  })
  afterAll(async () => {
    for (const each of replicas) await each.process.stop()
  })

  test(
    'HAProxy as documented: two replicas restart one after the other, and no request is lost',
    needs(haproxyIsInstalled(), 'HAProxy is not installed'),
    async () => {
      const others = block('haproxy').replaceAll(/^(backend| *server) .*\n/gm, '')
      const servers = replicas.map(
        ({ port, operationsPort }, index) => `server ${index} 127.0.0.1:${port} port ${operationsPort}`,
      )
      const haproxy = await startHaproxy([
        ...others.trim().split('\n'),
        'http-response set-header X-Server %s',
        ...servers,
      ])
      try {
        await expectNothingLost(haproxy.url, async () => {
          for (const [index, each] of replicas.entries()) {
            expect(await restart(each), each.process.output()).toBe(0)
            await expect.poll(() => serverBehind(haproxy.url), { interval: 50 }).toBe(String(index))
          }
        })
      } finally {
        await haproxy.stop()
      }
    },
  )

  test(
    'nginx as documented: a replica that is marked down restarts, and no request is lost',
    needs(nginxIsInstalled(), 'nginx is not installed'),
    async () => {
      const [first, second] = replicas
      if (!first || !second) throw new Error('no replicas')
      const port = await freePort()
      // Without keep-alive, because a reload closes idle connections of clients, too.
      const http = `keepalive_timeout 0;\n${block('nginx')
        .replace('10.0.0.11:8080', `127.0.0.1:${first.port}`)
        .replace('10.0.0.12:8080', `127.0.0.1:${second.port}`)
        .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
        .replaceAll(/^ *ssl_certificate.*\n/gm, '')
        .replace('$scheme', 'https')}`
      const nginx = await startNginx({}, http)
      try {
        await expectNothingLost(`http://127.0.0.1:${port}`, async () => {
          await nginx.reload(http.replace('max_fails=0', 'down'))
          expect(await restart(first)).toBe(0)
          await nginx.reload(http)
        })
      } finally {
        await nginx.stop()
      }
    },
  )
})
