import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type FlowOwners, mixedDay, pick, pickAction, planReads } from '../../../src/load/scenarios.ts'
import { signInAll } from '../load/crowd.ts'
import { drive, formatFailures } from '../load/drive.ts'
import type { Line } from '../load/line.ts'
import { logIn } from '../load/login.ts'
import { type Mailbox, openMailbox } from '../load/mailbox.ts'
import { readerOf, sendPlanned, walletOf } from '../load/planned.ts'
import { type Acknowledged, type Person, transferStep } from '../load/transfer.ts'
import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import { median, quantile } from '../report/stats.ts'
import { startGateway } from '../rig/gateway.ts'
import type { Started } from '../rig/processes.ts'
import type { Rig } from '../rig/workspace.ts'
import type { SeededAccount } from '../store/accounts.ts'
import { auditBook } from '../store/audit.ts'
import { bestStore } from '../store/stores.ts'
import { keepProfile } from './contest.ts'
import { addRound, emptyRow } from './rows.ts'

const scenario = 'mixed-day'
/** Memory can be compared between runs only under a constant load. */
const pace = 400
const loops = 64

const flowOwners: FlowOwners = new Map()

async function read(line: Line, people: readonly Person[]): Promise<void> {
  const randomness = { integer: (limit: number) => randomInt(limit) }
  const person = pick(people, randomness)
  const request = pick(planReads(readerOf(person), walletOf(person), flowOwners), randomness)
  await sendPlanned(line, person.headers, request)
}

/** Creates the steps of the mixed day of `portico load`. */
function dayOf(parts: {
  people: readonly Person[]
  accounts: readonly SeededAccount[]
  arriving: readonly SeededAccount[]
  mailbox: Mailbox
  acknowledged: Acknowledged
}) {
  const { people, accounts, arriving, mailbox, acknowledged } = parts
  const times = { reads: [] as number[], transfers: [] as number[], logins: [] as number[] }
  const transfer = transferStep(people, accounts, acknowledged)
  let arrived = 0
  const login = async (line: Line): Promise<void> => {
    arrived += 1
    await logIn(line, mailbox, arriving[arrived % arriving.length]?.email ?? '')
  }
  const step = async (line: Line): Promise<void> => {
    const action = pickAction(mixedDay, { integer: (limit) => randomInt(limit) })
    const kind = action === 'read' ? 'reads' : action === 'sign-in' ? 'logins' : 'transfers'
    const start = performance.now()
    await (kind === 'reads' ? read(line, people) : kind === 'transfers' ? transfer(line) : login(line))
    times[kind].push(performance.now() - start)
  }
  return { step, times }
}

/** Samples every 500 ms. The returned function stops and returns the samples. */
function watchMemory(process: Started) {
  const samples: number[] = []
  let watching = true
  const done = (async () => {
    for (; watching; await pause(500)) samples.push(process.residentBytes())
  })()
  return async (): Promise<number[]> => {
    watching = false
    await done
    return samples
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_048_576)} MB`
}

export async function mixedDayScenario(rig: Rig, options: Options): Promise<Outcome> {
  const store = await bestStore()
  const mailbox = rig.stopAtEnd(await openMailbox())
  const variables = { ...store.variables, SMTP_URL: mailbox.url }
  const gateway = await startGateway(rig, { variables, profile: options.profile })
  const half = store.accounts.length / 2
  const people = await signInAll(gateway, mailbox, store.accounts.slice(0, half))
  const acknowledged: Acknowledged = { orders: [], repeats: 0 }
  const { accounts } = store
  const day = dayOf({ people, accounts, arriving: accounts.slice(half), mailbox, acknowledged })
  const live = (seconds: number) => drive({ url: gateway.url, loops, seconds, pace, step: day.step })
  const row = emptyRow(scenario, 'portico', 'requests')
  const outcome: Outcome = { scenario, rows: [row], figures: [], notes: [], faults: [], profiles: [] }
  await live(3)
  for (const each of Object.values(day.times)) each.length = 0
  const before = gateway.cpuSeconds()
  const memory = watchMemory(gateway)
  const driven = await live(options.memorySeconds)
  const samples = await memory()
  addRound(row, driven, gateway.cpuSeconds() - before)
  outcome.faults.push(...formatFailures('portico', driven))
  const third = Math.floor(samples.length / 3)
  const [first, middle, last] = [0, 1, 2].map((part) => median(samples.slice(part * third, (part + 1) * third)))
  outcome.figures.push({ id: 'memory/middle-third', values: [(last ?? Number.NaN) / (middle ?? Number.NaN)] })
  for (const [kind, times] of Object.entries(day.times))
    outcome.notes.push(
      `${times.length} ${kind}: p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`,
    )
  outcome.notes.push(
    `resident memory by thirds of ${options.memorySeconds} s: ${[first, middle, last].map((each) => megabytes(each ?? 0)).join(', ')}`,
  )
  await keepProfile(outcome, gateway, options, () => live(5))
  await gateway.stop()
  outcome.faults.push(...(await auditBook(store.variables, acknowledged.orders)))
  outcome.notes.push(
    `on ${store.kind}, offered ${pace} a second; ${acknowledged.orders.length} orders acknowledged, and the book checked`,
  )
  return outcome
}
