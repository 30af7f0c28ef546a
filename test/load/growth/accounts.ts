import { setTimeout as pause } from 'node:timers/promises'
import type { Line } from '../load/line.ts'
import { chain } from '../load/people.ts'
import type { Rig } from '../rig/workspace.ts'
import {
  forEachOnLines,
  type Memory,
  measureMemory,
  megabytes,
  startMeasuredGateway,
  warmUp,
} from './accounts-memory.ts'
import { type AccountStore, openAccountStore, type SignedIn } from './accounts-store.ts'
import type { Curve } from './table.ts'

const sizes = [1_000, 10_000, 100_000]
/** One in a hundred accounts cannot sign in. Each gateway has one more account, for the warm-up. */
const stored = Math.ceil((sizes.reduce((sum, size) => sum + size + 1, 0) * 100) / 98)
/** Sessions are inserted just before they are used, so that no request has to record activity. */
const batch = 5_000

/** Fills the caches of tokens, clients, sessions, rights and addresses, and the counters of the rate limits. */
async function readWallets(line: Line, { workspace, headers }: SignedIn): Promise<void> {
  const { status, body } = await line.sendRequest({
    method: 'GET',
    path: `${chain}/wallets`,
    headers: { ...headers, 'x-workspace-id': workspace },
  })
  if (status !== 200) throw new Error(`${status} ${body}`)
}

interface Measured {
  full: Memory
  cpuSeconds: number
}

async function measureSize(rig: Rig, store: AccountStore, size: number): Promise<Measured> {
  // On a busy machine, the default of 3 s would fail requests.
  const configuration = { database: { connectTimeoutMs: 30_000 } }
  const gateway = await startMeasuredGateway(rig, `accounts-${size}`, store.variables, configuration)
  const [first] = await store.signIn(1)
  if (!first) throw new Error('no account')
  await warmUp(gateway.url, (line) => readWallets(line, first))
  let cpuSeconds = 0
  for (let done = 0; done < size; done += batch) {
    const people = await store.signIn(Math.min(batch, size - done))
    const before = gateway.cpuSeconds()
    await forEachOnLines(gateway.url, people, readWallets)
    cpuSeconds += gateway.cpuSeconds() - before
  }
  const full = await measureMemory(gateway)
  await gateway.stop()
  // The next gateway needs the singleton lock.
  await pause(500)
  return { full, cpuSeconds }
}

/** Measures one gateway per size, on one store with all accounts. */
export async function measureAccounts(rig: Rig): Promise<Curve> {
  const store = await openAccountStore(rig, 'accounts')
  await store.grow(stored)
  const rows = []
  for (const size of sizes) {
    const { full, cpuSeconds } = await measureSize(rig, store, size)
    rows.push({ size, values: [megabytes(full.resident), megabytes(full.live), (cpuSeconds / size) * 1_000_000] })
  }
  return {
    title: 'Memory of a gateway with signed-in accounts',
    size: 'accounts',
    columns: ['MB resident', 'MB live', 'CPU µs per request'],
    rows,
  }
}
