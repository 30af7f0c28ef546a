import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { listWallets, readBalance } from '../../../src/banking/wallets/contract.ts'
import { walletParams } from '../../../src/load/scenarios.ts'
import { signInAll } from '../load/crowd.ts'
import { type Drive, drive, formatFailures } from '../load/drive.ts'
import type { Line } from '../load/line.ts'
import { type Mailbox, openMailbox } from '../load/mailbox.ts'
import { sendPlanned } from '../load/planned.ts'
import { type Acknowledged, type Person, transferStep } from '../load/transfer.ts'
import type { Options } from '../options.ts'
import { median } from '../report/stats.ts'
import { type Gateway, startGateway } from '../rig/gateway.ts'
import type { Rig } from '../rig/workspace.ts'
import { rotated } from '../scenarios/contest.ts'
import { auditBook } from '../store/audit.ts'
import { type Counts, openStores, type SharedStores } from './replicas-stores.ts'
import type { Curve } from './table.ts'

const sizes = [1, 2, 3, 4]
/** Divisible by each size, so that every replica has the same number of connections. */
const loops = 24
const senders = 32
const transferPercent = 10

const columns = [
  'requests per second',
  'gateway CPU ms per request',
  'SQL statements per request',
  'Redis commands per request',
  'SQL statements per idle second',
  'Redis commands per idle second',
]

interface Deployment {
  replicas: readonly Gateway[]
  stores: SharedStores
  acknowledged: Acknowledged
  step: Drive['step']
  rounds: number[][]
}

function readStep(people: readonly Person[]) {
  return async (line: Line) => {
    const person = people[randomInt(people.length)]
    if (!person) throw new RangeError('nobody reads')
    const args = { workspaceId: person.workspace }
    if (randomInt(2) === 0) await sendPlanned(line, person.headers, { operation: listWallets, args })
    else {
      const params = walletParams(person.wallet)
      await sendPlanned(line, person.headers, { operation: readBalance, args: { ...args, params } })
    }
  }
}

async function deploy(rig: Rig, stores: SharedStores, mailbox: Mailbox, size: number): Promise<Deployment> {
  const variables = { ...stores.variables, SMTP_URL: mailbox.url }
  const replicas: Gateway[] = []
  for (let replica = 1; replica <= size; replica++) {
    const name = `replica-${replica}-of-${size}`
    replicas.push(await startGateway(rig, { name, place: 'anywhere', variables }))
  }
  const [first] = replicas
  if (!first) throw new RangeError('no replica')
  const people = await signInAll(first, mailbox, stores.accounts.slice(0, senders))
  const acknowledged: Acknowledged = { orders: [], repeats: 0 }
  const [read, transfer] = [readStep(people), transferStep(people, stores.accounts, acknowledged)]
  const step = (line: Line) => (randomInt(100) < transferPercent ? transfer(line) : read(line))
  return { replicas, stores, acknowledged, step, rounds: [] }
}

/** Any replica serves any account. */
async function load({ replicas, step, acknowledged }: Deployment, seconds: number) {
  const repeatsBefore = acknowledged.repeats
  const driven = await Promise.all(
    replicas.map(({ url }) => drive({ url, loops: loops / replicas.length, seconds, step })),
  )
  const [failure] = driven.flatMap((each) => formatFailures(`${replicas.length} replicas`, each))
  if (failure !== undefined) throw new Error(failure)
  const requests = driven.reduce((sum, { done }) => sum + done, 0) + acknowledged.repeats - repeatsBefore
  return { requests, seconds: Math.max(...driven.map((each) => each.seconds)) }
}

function cpuSecondsOf({ replicas }: Deployment): number {
  return replicas.reduce((sum, each) => sum + each.cpuSeconds(), 0)
}

function between(before: Counts, after: Counts, divisor: number): [statements: number, commands: number] {
  return [(after.statements - before.statements) / divisor, (after.commands - before.commands) / divisor]
}

async function measureRound(deployment: Deployment, seconds: number): Promise<void> {
  const { rounds, stores } = deployment
  const [counts, cpu] = [await stores.readCounts(), cpuSecondsOf(deployment)]
  const loaded = await load(deployment, seconds)
  const cpuMs = (cpuSecondsOf(deployment) - cpu) * 1_000
  const perRequest = between(counts, await stores.readCounts(), loaded.requests)
  rounds.push([loaded.requests / loaded.seconds, cpuMs / loaded.requests, ...perRequest])
}

async function measureIdle(deployments: readonly Deployment[], seconds: number): Promise<[number, number][]> {
  const readAll = async (): Promise<Counts[]> => {
    const counts: Counts[] = []
    for (const { stores } of deployments) counts.push(await stores.readCounts())
    return counts
  }
  const before = await readAll()
  await pause(seconds * 1_000)
  const after = await readAll()
  return before.flatMap((counts, index) => {
    const later = after[index]
    return later ? [between(counts, later, seconds)] : []
  })
}

function medians(rounds: readonly (readonly number[])[]): number[] {
  return Array.from({ length: 4 }, (_, column) => median(rounds.map((values) => values[column] ?? Number.NaN)))
}

/**
 * Measures deployments with one to four replicas. The replicas of a deployment share a database and a Redis server.
 *
 * On a machine with two cores, the replicas, the stores and the load compete for the same CPU time, so throughput cannot
 * scale. Read the other columns: work per request must stay flat, and the idle work grows with each replica. With more cores
 * and flat columns, throughput is limited by the stores.
 */
export async function measureReplicas(rig: Rig, { rounds, seconds }: Options): Promise<Curve> {
  const mailbox = rig.stopAtEnd(await openMailbox())
  const createStores = await openStores(rig)
  const deployments: Deployment[] = []
  for (const size of sizes) deployments.push(await deploy(rig, await createStores(`replicas_${size}`), mailbox, size))
  // Each replica needs about ten thousand requests to be compiled.
  for (const each of deployments) await load(each, 2 * seconds * each.replicas.length)
  for (let round = 0; round < rounds; round++)
    for (const each of rotated(deployments, round)) await measureRound(each, seconds)
  const idle = await measureIdle(deployments, 5 * seconds)
  for (const { replicas, stores, acknowledged } of deployments) {
    for (const each of replicas) await each.stop()
    const [fault] = await auditBook(stores.variables, acknowledged.orders)
    if (fault !== undefined) throw new Error(`${replicas.length} replicas: ${fault}`)
  }
  const rows = deployments.map(({ replicas, rounds: measured }, index) => ({
    size: replicas.length,
    values: [...medians(measured), ...(idle[index] ?? [])],
  }))
  return { title: 'Replicas of the gateway', size: 'replicas', columns, rows }
}
