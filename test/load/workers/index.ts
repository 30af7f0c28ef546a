/*
 * `npm run measure:workers [rounds] [seconds]` compares one process with two workers for proxied GETs, in interleaved rounds,
 * and the ways in which workers share a port. Then it ends a worker at 1,000 requests per second.
 *
 * The load generator and the service take a part of the cores. So another comparison limits each process of the gateway to a
 * part of a core, which leaves enough for the load. Two workers then have two such parts, as they have two cores elsewhere.
 */
import { readFileSync } from 'node:fs'
import { argv, stdout } from 'node:process'
import { developmentIds } from '../../../src/seed/development.ts'
import { startRedis } from '../../harness/redis.ts'
import { signIn } from '../load/people.ts'
import { type Shot, spray } from '../load/spray.ts'
import { median } from '../report/stats.ts'
import { type Gateway, startGateway } from '../rig/gateway.ts'
import { startPeer } from '../rig/peers.ts'
import { unpinned } from '../rig/processes.ts'
import { canLimitCpu, limitCpu } from '../rig/quota.ts'
import { cpuSecondsOf, processTree } from '../rig/usage.ts'
import { openRig, type Rig } from '../rig/workspace.ts'
import { paths, proxying } from '../scenarios/proxied.ts'
import { closeStores, seededStore } from '../store/stores.ts'
import { driveThroughFailure } from './failure.ts'

const rounds = Number(argv[2] ?? 7)
const seconds = Number(argv[3] ?? 8)
const connections = 64
const ratePerSecond = 1_000
/** Of a core. Two such parts leave more than a core to the load. */
const percent = 40

const preload = ['--import', import.meta.resolve('./without-reuse-port.ts')]
const ways = {
  'one process': { workers: '1', nodeOptions: [], policy: {} },
  'two workers, reusePort': { workers: '2', nodeOptions: [], policy: {} },
  'two workers, round robin': { workers: '2', nodeOptions: preload, policy: { NODE_CLUSTER_SCHED_POLICY: 'rr' } },
  'two workers, one socket': { workers: '2', nodeOptions: preload, policy: { NODE_CLUSTER_SCHED_POLICY: 'none' } },
}
type Way = keyof typeof ways

interface Round {
  rate: number
  /** Of all processes of the gateway. */
  cpuMicroseconds: number
  p99: number
}

function print(text: string): void {
  stdout.write(`${text}\n`)
}

/** Its share of memory that processes share, and what is its own, in megabytes. */
function memoryOf(pid: number): string {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const megabytes = (name: string): string =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1_000).toFixed(0)
  return `${megabytes('Rss')} MB resident, ${megabytes('Pss')} MB proportional`
}

async function start(rig: Rig, way: Way, variables: Record<string, string>, configuration: object): Promise<Gateway> {
  const { workers, nodeOptions, policy } = ways[way]
  const gateway = await startGateway(rig, {
    name: way.replaceAll(/\W+/g, '-'),
    place: 'anywhere',
    variables: { ...variables, ...policy },
    configuration,
    nodeOptions,
    serveOptions: ['--workers', workers],
  })
  for (let isReady = false; !isReady; ) {
    const response = await fetch(`${gateway.operationsUrl}/health/ready`).catch(() => null)
    const text = (await response?.text()) ?? ''
    isReady = response?.status === 200 && (workers === '1' || text.split('"status":"ready"').length === 4)
  }
  return gateway
}

/** `from` is 1 for workers, whose supervisor serves no requests. */
async function measureLimited(gateway: Gateway, shot: Shot, from: number): Promise<Round> {
  using limits = new DisposableStack()
  for (const pid of processTree(gateway.pid).slice(from)) limits.use(limitCpu([pid], percent))
  return await measure(gateway, shot)
}

async function measure(gateway: Gateway, shot: Shot): Promise<Round> {
  const cpu = (): number => processTree(gateway.pid).reduce((sum, pid) => sum + cpuSecondsOf(pid), 0)
  const before = cpu()
  const hits = await spray(shot, connections, seconds)
  if (hits.failures > 0) print(`WRONG  ${gateway.name}: ${hits.failures} failures`)
  const cpuMicroseconds = ((cpu() - before) * 1e6) / hits.requests
  return { rate: hits.requests / hits.seconds, cpuMicroseconds, p99: hits.p99 }
}

function printRounds(title: string, compared: [Way, Round[]][]): void {
  const medianOf = (results: Round[], name: keyof Round): number => median(results.map((each) => each[name]))
  print(`\n${title}`)
  print('| way | GETs per second | ratio | CPU µs per GET | p99 ms |\n| --- | --- | --- | --- | --- |')
  const base = medianOf(compared[0]?.[1] ?? [], 'rate')
  for (const [way, results] of compared) {
    const rate = medianOf(results, 'rate')
    const cpu = medianOf(results, 'cpuMicroseconds').toFixed(0)
    const p99 = medianOf(results, 'p99').toFixed(1)
    print(`| ${way} | ${rate.toFixed(0)} | ${(rate / base).toFixed(2)} | ${cpu} | ${p99} |`)
  }
}

await using rig = openRig()
await unpinned(async () => {
  const upstream = await startPeer(rig, 'upstream', {}, 'anywhere')
  const redis = await startRedis()
  if (!redis) throw new Error('Redis is not installed')
  rig.stopAtEnd(redis)
  const { variables } = await seededStore('postgres')
  const stores = { ...variables, REDIS_URL: redis.url } as Record<string, string>
  const contenders: { way: Way; gateway: Gateway; shot: Shot; results: Round[]; limited: Round[] }[] = []
  for (const way of Object.keys(ways) as Way[]) {
    const gateway = await start(rig, way, stores, {
      ...proxying(upstream.url),
      shutdown: { delayMs: 1_000, timeoutMs: 20_000 },
    })
    const headers = { ...(await signIn(gateway)), 'x-workspace-id': developmentIds.workspace }
    contenders.push({
      way,
      gateway,
      shot: { method: 'GET', url: gateway.url + paths.GET, headers },
      results: [],
      limited: [],
    })
  }
  for (let round = 0; round <= rounds; round += 1)
    for (const { gateway, shot, results } of contenders) {
      const result = await measure(gateway, shot)
      // The first round warms up.
      if (round > 0) results.push(result)
    }
  printRounds(
    `${rounds} rounds of ${seconds} s, ${connections} connections, medians`,
    contenders.map(({ way, results }) => [way, results]),
  )
  if (canLimitCpu()) {
    const compared = contenders.slice(0, 2)
    for (let round = 0; round < rounds; round += 1)
      for (const { way, gateway, shot, limited } of compared)
        limited.push(await measureLimited(gateway, shot, way === 'one process' ? 0 : 1))
    printRounds(
      `the same, each process that serves limited to ${percent} % of a core`,
      compared.map(({ way, limited }) => [way, limited]),
    )
  }
  for (const { way, gateway } of contenders)
    for (const [index, pid] of processTree(gateway.pid).entries())
      print(
        `${way}, ${index === 0 ? 'first process' : `worker ${index}`}: ${memoryOf(pid)}, ${cpuSecondsOf(pid).toFixed(1)} s CPU`,
      )
  for (const { way, gateway, shot } of contenders.slice(1))
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const worker = processTree(gateway.pid).at(-1) ?? 0
      const report = await driveThroughFailure(shot, ratePerSecond, () => process.kill(worker, signal))
      print(`${way}, ${signal} to a worker at ${ratePerSecond} GETs per second: ${report}`)
    }
}).finally(closeStores)
