/*
 * Measures the costs that `npm run capacity` needs, and writes them to measured.json: `npm run capacity:measure`. Takes
 * three minutes. First it measures each kind of request alone on a small store, then a mix on a larger one, which checks
 * the model.
 */
import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { stdout } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { listWallets, readBalance } from '../../src/banking/wallets/contract.ts'
import { openDatabase } from '../../src/database/index.ts'
import { verifyLedger } from '../../src/ledger/index.ts'
import { walletParams } from '../../src/load/scenarios.ts'
import { sealAuditLog } from '../../src/platform/audit/index.ts'
import { postgresTarget } from '../../test/harness/postgres-target.ts'
import { startRedis, type TestRedis } from '../../test/harness/redis.ts'
import { openAccountStore } from '../../test/load/growth/accounts-store.ts'
import { signInAll } from '../../test/load/load/crowd.ts'
import { drive } from '../../test/load/load/drive.ts'
import type { Line } from '../../test/load/load/line.ts'
import { logIn } from '../../test/load/load/login.ts'
import { openMailbox } from '../../test/load/load/mailbox.ts'
import { sendPlanned } from '../../test/load/load/planned.ts'
import { type Person, transferStep } from '../../test/load/load/transfer.ts'
import { type Gateway, startGateway } from '../../test/load/rig/gateway.ts'
import { unpinned } from '../../test/load/rig/processes.ts'
import { openRig, type Rig } from '../../test/load/rig/workspace.ts'
import type { SeededAccount } from '../../test/load/store/accounts.ts'
import { closeStores, postgres, seededStore } from '../../test/load/store/stores.ts'
import { type Reading, readCounters, type TableSize, tableSizes, walBetween } from './counters.ts'
import { type Kind, type Measured, measuredFile, type RequestCost } from './measured.ts'

type Step = (line: Line) => Promise<void>

/** Measured on the small store. */
type SmallKind = Exclude<Kind, 'coldRead'>

interface Bench {
  gateway: Gateway
  client: Client
  redis: TestRedis
  seal(): Promise<number>
}

const seconds = 12
const loops = 6
const largerStore = 50_000
const signedIn = 20_000
const idleSeconds = 20
const checkSeconds = 30
const checkRate = 200
const transferPercent = 20

try {
  await using rig = openRig()
  writeFileSync(measuredFile, `${JSON.stringify(await measure(rig), null, 2)}\n`)
} finally {
  await closeStores()
}

async function measure(rig: Rig): Promise<Measured> {
  await postgres({ full_page_writes: 'on', max_wal_size: '8GB', checkpoint_timeout: '1h' })
  const mailbox = rig.stopAtEnd(await openMailbox())
  const store = await seededStore('postgres')
  const bench = await openBench(rig, { ...store.variables, SMTP_URL: mailbox.url })
  const people = await signInAll(bench.gateway, mailbox, store.accounts.slice(0, 50))
  let arrivals = 0
  const arrive: Step = async (line) => {
    arrivals += 1
    const { email } = store.accounts[50 + (arrivals % 50)] ?? { email: '' }
    await logIn(line, mailbox, email)
  }
  const steps = { read: readStep(people), transfer: transferOf(people, store.accounts), signIn: arrive }
  const requests: Partial<Record<SmallKind, RequestCost>> = {}
  for (const kind of ['read', 'transfer', 'signIn'] as const) {
    await run(bench, steps[kind], 4)
    requests[kind] = await cost(bench, steps[kind])
    stdout.write(`${kind} ${JSON.stringify(requests[kind])}\n`)
  }
  const perAudit = await sealingRate(bench)
  await bench.gateway.stop()
  const { read, transfer, signIn } = requests
  if (!read || !transfer || !signIn) throw new Error('a kind of request was not measured')
  return { ...(await larger(rig, mailbox.url, { read, transfer, signIn })), sealedPerSecond: perAudit }
}

async function openBench(rig: Rig, variables: Record<string, string | undefined>): Promise<Bench> {
  const redis = await unpinned(() => startRedis())
  if (!redis) throw new Error('needs Redis')
  rig.stopAtEnd(redis)
  const url = variables.DATABASE_URL ?? ''
  const client = new Client({ connectionString: url })
  await client.connect()
  rig.stopAtEnd({ stop: () => client.end() })
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect')
  const opened = await openDatabase({ ...postgresTarget(url), statementTimeoutMs: 120_000 })
  rig.stopAtEnd({ stop: () => opened.close() })
  const gateway = await startGateway(rig, { variables: { ...variables, REDIS_URL: redis.url } })
  return { gateway, client, redis, seal: () => sealAuditLog(opened.database) }
}

function pickOne<T>(items: readonly T[]): T {
  const item = items[randomInt(items.length)]
  if (item === undefined) throw new RangeError('an empty list')
  return item
}

function readStep(people: readonly Person[]): Step {
  return async (line) => {
    const { workspace, wallet, headers } = pickOne(people)
    const args = { workspaceId: workspace }
    if (randomInt(2) === 0) await sendPlanned(line, headers, { operation: listWallets, args })
    else await sendPlanned(line, headers, { operation: readBalance, args: { ...args, params: walletParams(wallet) } })
  }
}

function transferOf(people: readonly Person[], wallets: readonly SeededAccount[]): Step {
  return transferStep(people, wallets, { orders: [], repeats: 0 })
}

async function run({ gateway }: Bench, step: Step, duration: number, pace?: number): Promise<number> {
  const driven = await drive({ url: gateway.url, loops, seconds: duration, step, ...(pace !== undefined && { pace }) })
  if (driven.failures.length > 0) throw new Error(driven.failures[0])
  return driven.done
}

/** Waits until the events of the requests have positions, and seals their audit entries. */
async function finishWork({ client, seal }: Bench): Promise<void> {
  for (;;) {
    const { rows } = await client.query('SELECT 1 FROM event_outbox WHERE failure IS NULL LIMIT 1')
    if (rows.length === 0) break
  }
  await seal()
}

/** Deleted rows and old versions are reusable afterwards, so that the size of a table is the size in the long run. */
async function sizesAfterVacuum({ client }: Bench): Promise<Record<string, TableSize>> {
  await client.query('VACUUM')
  return tableSizes(client)
}

/** Per request of this step, with the work that follows it, but without VACUUM. */
async function cost(bench: Bench, step: Step, duration = seconds, pace?: number): Promise<RequestCost> {
  await finishWork(bench)
  const sizes = await sizesAfterVacuum(bench)
  await bench.client.query('CHECKPOINT')
  const [before, cpu] = [await readCounters(bench.client, bench.redis), bench.gateway.cpuSeconds()]
  const done = await run(bench, step, duration, pace)
  const gatewayCpu = bench.gateway.cpuSeconds() - cpu
  await finishWork(bench)
  const after = await readCounters(bench.client, bench.redis)
  const sum = await perRequest(bench, before, after, gatewayCpu, done)
  return { ...sum, tables: growthOf(sizes, await sizesAfterVacuum(bench), done) }
}

async function measureIdle({ gateway, client, redis }: Bench): Promise<Measured['idle']> {
  const [before, cpu] = [await readCounters(client, redis), gateway.cpuSeconds()]
  const begun = performance.now()
  await pause(idleSeconds * 1_000)
  const took = (performance.now() - begun) / 1_000
  const gatewayMs = ((gateway.cpuSeconds() - cpu) * 1_000) / took
  const after = await readCounters(client, redis)
  const postgresMs = ((after.postgresCpuSeconds - before.postgresCpuSeconds) * 1_000) / took
  return { gatewayMs: round(gatewayMs, 1), postgresMs: round(postgresMs, 1) }
}

async function perRequest(
  { client }: Bench,
  before: Reading,
  after: Reading,
  gatewayCpuSeconds: number,
  done: number,
): Promise<Omit<RequestCost, 'tables'>> {
  const wal = await walBetween(client, before.walPosition, after.walPosition)
  return {
    requests: done,
    gatewayMs: round((gatewayCpuSeconds * 1_000) / done, 3),
    postgresMs: round(((after.postgresCpuSeconds - before.postgresCpuSeconds) * 1_000) / done, 3),
    redisMs: round(((after.redisCpuSeconds - before.redisCpuSeconds) * 1_000) / done, 4),
    redisCommands: round((after.redisCommands - before.redisCommands) / done, 2),
    walBytes: Math.round(wal.records / done),
    walPageBytes: Math.round(wal.pages / done),
  }
}

function growthOf(
  before: Record<string, TableSize>,
  after: Record<string, TableSize>,
  done: number,
): Record<string, TableSize> {
  const grown = Object.entries(after).flatMap(([name, { rows, bytes }]) => {
    const [moreRows, moreBytes] = [rows - (before[name]?.rows ?? 0), bytes - (before[name]?.bytes ?? 0)]
    return moreRows * 20 > done
      ? [[name, { rows: round(moreRows / done, 2), bytes: Math.round(moreBytes / done) }]]
      : []
  })
  return Object.fromEntries(grown)
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

async function sealingRate({ client, seal }: Bench): Promise<number> {
  await client.query(`INSERT INTO audit_log (at, portal, actor_biz_id, action, outcome, request_id, client_ip)
    SELECT now(), 'CONSUMER', gen_random_uuid(), 'transfers.create', 'SUCCESS', n::text, '203.0.113.7'
      FROM generate_series(1, 10000) AS n`)
  const begun = performance.now()
  const sealed = await seal()
  return Math.round((sealed * 1_000) / (performance.now() - begun))
}

type Larger = Omit<Measured, 'sealedPerSecond'>

/** Grows a store, measures what an account takes, and runs a mix at a constant rate. */
async function larger(rig: Rig, smtp: string, requests: Record<SmallKind, RequestCost>): Promise<Larger> {
  const store = await openAccountStore(rig, 'capacity')
  await store.grow(largerStore)
  const url = store.variables.DATABASE_URL ?? ''
  const accountTables = await tablesPerAccount(url)
  const checkedSeconds = await ledgerCheckSeconds(url)
  const bench = await openBench(rig, { ...store.variables, SMTP_URL: smtp })
  const people = (await store.signIn(signedIn)).map((each) => ({
    ...each,
    email: '',
    // See test/growth/large-store.ts: a workspace and its wallet have the same number.
    wallet: each.workspace.replace('01990002', '01990005'),
  }))
  const redisBefore = (await readCounters(bench.client, bench.redis)).redisBytes
  const coldRead = await costOfColdRead(bench, people)
  const redisAfter = (await readCounters(bench.client, bench.redis)).redisBytes
  const check = await checkMix(bench, people)
  // Not before: a process checks the whole ledger after its start.
  const idle = await measureIdle(bench)
  await bench.gateway.stop()
  return {
    source: `npm run capacity:measure, ${new Date().toISOString().slice(0, 10)}`,
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.versions.node}`,
    requests: { ...requests, coldRead },
    idle,
    redisBytesPerAccount: Math.round((redisAfter - redisBefore) / Math.min(signedIn, coldRead.requests)),
    accountTables,
    ledgerCheckMicrosPerEntry: round((checkedSeconds * 1_000_000) / (6 * largerStore), 1),
    check,
  }
}

/** Each request is the first one of its account in this process. */
async function costOfColdRead(bench: Bench, people: readonly Person[]): Promise<RequestCost> {
  const remaining = people.values()
  const read = async (line: Line): Promise<void> => {
    const { value } = remaining.next()
    await readStep(value ? [value] : people)(line)
  }
  await run(bench, read, 3)
  return cost(bench, read, 8)
}

async function tablesPerAccount(url: string): Promise<Record<string, number>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const names = ['accounts', 'workspaces', 'roles', 'memberships', 'ledger_accounts', 'wallets']
  const { rows } = await client
    .query<{ name: string; bytes: string }>(
      'SELECT relname AS name, pg_total_relation_size(oid) AS bytes FROM pg_class WHERE relname = ANY ($1)',
      [names],
    )
    .finally(() => client.end())
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, Math.round(Number(bytes) / largerStore)]))
}

async function ledgerCheckSeconds(url: string): Promise<number> {
  const opened = await openDatabase({ ...postgresTarget(url), statementTimeoutMs: 120_000 })
  try {
    const begun = performance.now()
    const broken = await verifyLedger(opened.database)
    if (broken) throw new Error(`the ledger is broken: ${broken.rule}`)
    return (performance.now() - begun) / 1_000
  } finally {
    await opened.close()
  }
}

/** A larger store, few requests per account, and idle time between them: the caches of the gateway do not help. */
async function checkMix(bench: Bench, people: readonly Person[]): Promise<Measured['check']> {
  const [read, transfer] = [readStep(people), transferOf(people, people)]
  let transfers = 0
  const mixed: Step = (line) => {
    if (randomInt(100) >= transferPercent) return read(line)
    transfers += 1
    return transfer(line)
  }
  await run(bench, mixed, 5, checkRate)
  transfers = 0
  const total = await cost(bench, mixed, checkSeconds, checkRate)
  return { accounts: largerStore, seconds: checkSeconds, transfers, reads: total.requests - transfers, total }
}
