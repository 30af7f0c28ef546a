import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { memoryStorage } from '../../src/client/session/storage.ts'
import { startConfigured } from '../harness/configured.ts'
import { startMailServer, type TestMailServer } from '../harness/mail-server.ts'
import { freePort, type TestPostgres } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { type RoundTripCounter, startRoundTripCounter } from '../harness/round-trips.ts'
import { longTimeouts } from '../harness/settings.ts'
import { codeIn } from '../harness/sign-in.ts'

type Peer = 'client' | 'postgres' | 'redis' | 'upstream'

/** The cost of one request. The bytes are the sum of both directions. */
interface Traffic {
  postgres: number
  statements: number
  redis: number
  upstream: number
  clientBytes: number
  otherBytes: number
}

interface Cost extends Traffic {
  allocated: number
}

function trafficOf(read: (name: keyof Traffic) => number): Traffic {
  return {
    postgres: read('postgres'),
    statements: read('statements'),
    redis: read('redis'),
    upstream: read('upstream'),
    clientBytes: read('clientBytes'),
    otherBytes: read('otherBytes'),
  }
}

/** Enough for V8 to optimize what a request runs, and to hide background jobs. */
const [warmUp, samples] = [600, 100]
const signIns = 12

/** The rows of the table in docs/performance.md: round trips, statements, bytes and allocations of each request. */
function documented(name: string): string[] {
  const page = readFileSync('docs/performance.md', 'utf8')
  const [, table = ''] = page.split('| request on a warm replica |')
  const row = table.split('\n').find((line) => line.startsWith(`| ${name} |`))
  return (row ?? '')
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim())
}

/** Keeps the cookie, and sends what a browser sends from a page of the gateway's origin. */
function browserFetch(): typeof fetch {
  let cookie = ''
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('sec-fetch-site', 'same-origin')
    if (cookie !== '') headers.set('cookie', cookie)
    const response = await fetch(input, { ...init, headers })
    cookie = response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? cookie
    return response
  }
}

/** Not the minimum: a notification that is on its way hides a round trip. */
function lowest(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 10)] ?? 0
}

function kilobytes(bytes: number): string {
  return (bytes / 1_000).toFixed(1)
}

function toCells({ postgres, statements, redis, upstream, clientBytes, otherBytes, allocated }: Cost): string[] {
  return [
    ...[postgres, statements, redis, upstream].map(String),
    ...[clientBytes, otherBytes, allocated].map(kilobytes),
  ]
}

/** Round trips and statements are exact. Bytes vary with ids and numbers. */
const tolerances = [0, 0, 0, 0, 0.2, 0.2, Number.POSITIVE_INFINITY]
/** Before V8 has optimized a request, it allocates almost three times as much. */
const maxGrowth = 3

function matches(name: string, cost: Cost): boolean {
  const cells = documented(name)
  const isNear = (cell: string, index: number): boolean => {
    const [expected, tolerance = 0] = [Number(cells[index]), tolerances[index]]
    return Math.abs(Number(cell) - expected) <= tolerance * expected
  }
  const allocated = Number(cells.at(-1))
  return (
    cells.length === tolerances.length && toCells(cost).every(isNear) && cost.allocated / 1_000 <= maxGrowth * allocated
  )
}

function expectDocumented(costs: Record<string, Cost>): void {
  const rows = (cells: (name: string) => string[]) =>
    Object.fromEntries(Object.keys(costs).map((name) => [name, cells(name).join(' | ')]))
  const measured = (name: string): string[] => {
    const cost = costs[name]
    return !cost || matches(name, cost) ? documented(name) : toCells(cost)
  }
  expect(rows(measured)).toEqual(rows(documented))
}

/**
 * The costs of each kind of request on a warm replica. Counts of round trips and statements are those of the cheapest of
 * several requests, because jobs and notifications use the same connections.
 */
describe('round trips', () => {
  const stops: (() => Promise<unknown>)[] = []
  let counters: Record<Peer, RoundTripCounter>
  let gateway: PorticoProcess
  let url: string
  let mails: TestMailServer

  const count = async (target: string, isPostgres = false): Promise<[RoundTripCounter, string]> => {
    const counted = new URL(target)
    const counter = await startRoundTripCounter(Number(counted.port), isPostgres)
    stops.unshift(counter.close)
    counted.port = String(counter.port)
    return [counter, counted.href.replace(/\/$/, '')]
  }

  /** In the gateway's process, so far. */
  const allocatedBytes = async (): Promise<number> => {
    const outputs = () => [...gateway.output().matchAll(/^allocated (\d+) bytes$/gm)]
    const before = outputs().length
    gateway.child.kill('SIGUSR2')
    await expect.poll(() => outputs().length).toBeGreaterThan(before)
    return Number(outputs().at(-1)?.[1])
  }

  const totals = (): Traffic => {
    const { client, postgres, redis, upstream } = counters
    return {
      postgres: postgres.roundTrips,
      statements: postgres.statements,
      redis: redis.roundTrips,
      upstream: upstream.roundTrips,
      clientBytes: client.bytes,
      otherBytes: postgres.bytes + redis.bytes + upstream.bytes,
    }
  }

  const trafficDuring = async (task: () => Promise<unknown>): Promise<Traffic> => {
    const before = totals()
    await task()
    const after = totals()
    return trafficOf((name) => after[name] - before[name])
  }

  /** `prepare` runs before each request, and is not counted. */
  const costOf = async <T>(
    task: (prepared: T) => Promise<unknown>,
    prepare: () => T | Promise<T>,
    requests: number,
  ): Promise<Cost> => {
    const costs: Traffic[] = []
    let allocated = 0
    for (let index = 0; index < requests; index++) {
      const prepared = await prepare()
      // Work after the previous response also uses the connections. Events get their positions within 100 ms.
      await pause(requests < samples ? 40 : index % 5 === 0 ? 120 : 1)
      const before = requests === samples ? 0 : await allocatedBytes()
      costs.push(await trafficDuring(() => task(prepared)))
      allocated += before === 0 ? 0 : (await allocatedBytes()) - before
    }
    if (requests === samples) {
      const before = await allocatedBytes()
      for (let index = 0; index < requests; index++) await task(await prepare())
      allocated = (await allocatedBytes()) - before
    }
    return {
      ...trafficOf((name) => lowest(costs.map((cost) => cost[name]))),
      allocated: allocated / requests,
    }
  }

  const costOfMany = async (task: () => Promise<unknown>): Promise<Cost> => {
    for (let index = 0; index < warmUp; index++) await task()
    return costOf(task, () => undefined, samples)
  }

  const clientOf = (seal: 'none' | 'all') =>
    createClient({
      baseUrl: url,
      portal: 'CONSUMER',
      accessCode: 'consumer-dev',
      edgeHeaders: { clientIp: '203.0.113.7', country: 'DE' },
      seal,
    })
  type Owner = ReturnType<typeof clientOf>

  const browser = browserFetch()
  const pageOf = () =>
    createClient({
      baseUrl: url,
      portal: 'CONSUMER',
      accessCode: 'consumer-dev',
      edgeHeaders: { clientIp: '203.0.113.7', country: 'DE' },
      seal: 'none',
      session: 'cookie',
      storage: memoryStorage(),
      fetch: browser,
    })
  const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026' }
  const mfaMethod = 'EMAIL' as const
  let owner: Owner

  const codeMails = () => mails.received.filter(({ subject }) => /sign-in code/.test(subject ?? ''))
  const codeAfter = async (mailed: number): Promise<string> => {
    for (let attempt = 0; codeMails().length <= mailed; attempt++) {
      if (attempt > 4_000) throw new Error('no mail with a code')
      await pause(5)
    }
    return codeIn(codeMails().at(-1)?.text ?? '')
  }

  const sendCode = async (client: Owner): Promise<{ sessionId: string; mfaMethod: typeof mfaMethod; code: string }> => {
    const { sessionId } = await client.initiateLogin({ body: credentials })
    const body = { sessionId: sessionId ?? '', mfaMethod }
    const mailed = codeMails().length
    await client.sendLoginCode({ body })
    return { ...body, code: await codeAfter(mailed) }
  }

  const signedInClient = async (seal: 'none' | 'all'): Promise<Owner> => {
    const client = clientOf(seal)
    const mailed = codeMails().length
    await client.signIn({ ...credentials, code: () => codeAfter(mailed) })
    return client
  }

  beforeAll(async () => {
    const [postgres, redis]: [TestPostgres | undefined, TestRedis | undefined] = [
      await seededPostgres(),
      await startRedis(),
    ]
    if (!postgres || !redis) throw new Error('needs PostgreSQL and Redis')
    mails = await startMailServer()
    stops.push(postgres.stop, redis.stop, mails.close)
    const operationsPort = String(await freePort())
    const direct = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, PORTICO_RATE_LIMIT_SCALE: '1000' }
    const jwksUrl = `http://127.0.0.1:${operationsPort}/.well-known/jwks.json`
    // On a slow machine, each sign-in would read the signing keys again.
    const tokens = { keyRefreshMs: 60_000 }
    const stores = { database: longTimeouts, redis: { commandTimeoutMs: 1_000 }, tokens }
    const domains = await startConfigured(direct, { ...stores, assertion: { jwksUrl } }, 'domains')
    stops.unshift(domains.stop)
    const [toPostgres, DATABASE_URL] = await count(postgres.url, true)
    const [toRedis, REDIS_URL] = await count(redis.url)
    const [toUpstream, upstreamUrl] = await count(domains.url)
    gateway = await startConfigured(
      { ...direct, DATABASE_URL, REDIS_URL, SMTP_URL: mails.url, OPS_PORT: operationsPort },
      { ...stores, backends: { wallets: { url: upstreamUrl } } },
      'gateway',
      ['--import', './test/harness/allocations.ts'],
    )
    stops.unshift(gateway.stop)
    const [toGateway, gatewayUrl] = await count(gateway.url)
    url = gatewayUrl
    counters = { client: toGateway, postgres: toPostgres, redis: toRedis, upstream: toUpstream }
    owner = await signedInClient('none')
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
  })

  const transferOf = (wallets: { bizId: string; currency: string }[]) => {
    const [one, two] = wallets.filter(({ currency }) => currency === 'USD')
    const body = {
      sourceWalletBizId: one?.bizId ?? '',
      targetWalletBizId: two?.bizId ?? '',
      amount: '0.01',
      currency: 'USD',
    }
    return { body }
  }

  test('secureChannel.publicKey, wallets.list from a service, profile.read in process', async () => {
    expectDocumented({
      anonymous: await costOfMany(() => owner.readPublicKey()),
      'proxied GET': await costOfMany(() => owner.listWallets()),
      'read in process, one record': await costOfMany(() => owner.readProfile()),
    })
  })

  test('wallets.list from a service, with a session cookie; a one-time URL', async () => {
    const page = pageOf()
    const mailed = codeMails().length
    await page.signIn({ ...credentials, code: () => codeAfter(mailed) })
    expectDocumented({
      'proxied GET, cookie': await costOfMany(() => page.listWallets()),
    })
    const path = '/web/v1/consumer/files/01990000-0000-7000-8000-00000000f11e/download'
    const create = () => page.createTicket({ body: { path } })
    const open = async ({ url: opened }: { url: string }) => browser(`${url}${opened}`)
    for (let index = 0; index < signIns; index++) await open(await create())
    expectDocumented({
      'one-time URL: create': await costOf(create, () => undefined, signIns),
      'one-time URL: use': await costOf(open, create, signIns),
    })
  })

  test('transfers.create, in plain text and sealed', async () => {
    const sealed = await signedInClient('all')
    const transfer = transferOf(await owner.listWallets())
    expectDocumented({
      transfer: await costOfMany(() => owner.createTransfer(transfer)),
      'encrypted transfer': await costOfMany(() => sealed.createTransfer(transfer)),
    })
  })

  test('auth.loginInitiate, auth.mfaSend, auth.loginComplete and auth.refresh', async () => {
    for (let index = 0; index < signIns; index++) await owner.completeLogin({ body: await sendCode(owner) })
    const initiated: string[] = []
    const initiate = await costOf(
      async () => initiated.push((await owner.initiateLogin({ body: credentials })).sessionId ?? ''),
      () => undefined,
      signIns,
    )
    const mailed = codeMails().length
    const send = await costOf(
      (sessionId) => owner.sendLoginCode({ body: { sessionId, mfaMethod } }),
      () => initiated.pop() ?? '',
      signIns,
    )
    await expect.poll(() => codeMails().length).toBe(mailed + signIns)
    let refreshToken = ''
    const complete = await costOf(
      async (body) => {
        refreshToken = (await owner.completeLogin({ body })).refreshToken
      },
      () => sendCode(owner),
      signIns,
    )
    const refresh = await costOf(
      async () => {
        refreshToken = (await owner.refreshToken({ body: { refreshToken } })).refreshToken
      },
      () => undefined,
      signIns,
    )
    const steps = [initiate, send, complete]
    const sumOf = (name: keyof Cost) => steps.reduce((sum, step) => sum + step[name], 0)
    const whole = { ...trafficOf(sumOf), allocated: sumOf('allocated') }
    expectDocumented({
      'sign-in: initiate': initiate,
      'sign-in: send a code': send,
      'sign-in: complete': complete,
      'whole sign-in': whole,
      'token refresh': refresh,
    })
    expect(whole.postgres).toBeLessThanOrEqual(10)
  })
})
