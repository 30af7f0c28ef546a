import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../harness/postgres.ts'
import { chain, perimeter } from '../load/people.ts'
import type { Gateway } from '../rig/gateway.ts'
import { start } from '../rig/processes.ts'
import type { Rig } from '../rig/workspace.ts'
import { bestStore } from '../store/stores.ts'
import { kilobytesEach, measureMemory, megabytes, startMeasuredGateway, warmUp } from './accounts-memory.ts'
import { openAccountStore, type SignedIn } from './accounts-store.ts'
import { assertOpen, assertOpenFiles, type OpenSocket, openSocket, openSockets } from './connections-sockets.ts'
import type { Curve } from './table.ts'

const observedSeconds = 5
const anonymousPath = `${chain}/secure-channel/public-key`

/** In percent of one core. */
async function measureCpu(gateway: Gateway): Promise<number> {
  const [before, begun] = [gateway.cpuSeconds(), performance.now()]
  await pause(observedSeconds * 1_000)
  return ((gateway.cpuSeconds() - before) / ((performance.now() - begun) / 1_000)) * 100
}

/** One gateway. Its keep-alive timeout of 620 s keeps idle connections open. */
export async function measureConnections(rig: Rig): Promise<Curve> {
  const sizes = [10, 100, 1_000, 10_000]
  assertOpenFiles(Math.max(...sizes))
  const { variables } = await bestStore()
  const gateway = await startMeasuredGateway(rig, 'connections', variables)
  const headers = perimeter()
  await warmUp(gateway.url, async (line) => {
    const { status, body } = await line.sendRequest({ method: 'GET', path: anonymousPath, headers })
    if (status !== 200) throw new Error(`${status} ${body}`)
  })
  const sockets: OpenSocket[] = []
  const rows = []
  for (const size of sizes) {
    const opened = await openSockets(size - sockets.length, () => openSocket(gateway.url, anonymousPath, headers))
    sockets.push(...opened)
    const memory = await measureMemory(gateway)
    const cpu = await measureCpu(gateway)
    assertOpen(sockets)
    // Live memory excludes Node's parsers.
    const values = [megabytes(memory.residentAfter), megabytes(memory.live), cpu]
    rows.push({ size, values })
  }
  for (const socket of sockets) socket.close()
  return {
    title: 'Memory of a gateway with idle keep-alive connections',
    size: 'connections',
    columns: ['MB resident', 'MB live', 'CPU %'],
    rows,
  }
}

const streamPath = `${chain}/notifications/events`
const document = fileURLToPath(import.meta.resolve('../../../examples/notifications/notifications.yaml'))
const service = fileURLToPath(import.meta.resolve('./connections-service.ts'))

async function startService(rig: Rig): Promise<string> {
  const { url } = rig.stopAtEnd(
    await start({
      name: 'events',
      place: 'load',
      command: process.execPath,
      args: [service],
      port: await freePort(),
      log: rig.file('events.log'),
    }),
  )
  return url
}

/** Throws if events are missing. */
async function watchStreams(gateway: Gateway, streams: readonly OpenSocket[]): Promise<number> {
  const countEvents = () => streams.reduce((sum, each) => sum + each.received(), 0)
  const before = countEvents()
  const cpu = await measureCpu(gateway)
  assertOpen(streams)
  const [events, expected] = [countEvents() - before, streams.length * observedSeconds]
  if (events < expected * 0.5) throw new Error(`only ${events} of ${expected} events arrived`)
  return cpu
}

type Open = (person: SignedIn | undefined) => Promise<OpenSocket>

const openingMs = 20_000

/** Each stream reads its own session and rights again, so an overloaded gateway refuses or closes some. */
async function watchAccounts(gateway: Gateway, people: readonly SignedIn[], open: Open) {
  const until = performance.now() + openingMs
  const tryOpen = async (person: SignedIn | undefined) =>
    performance.now() < until ? open(person).catch(() => null) : null
  const opened = await openSockets(people.length, (index) => tryOpen(people[index]))
  const cpu = await measureCpu(gateway)
  const kept = opened.filter((each) => each?.isOpen()).length
  for (const stream of opened) stream?.close()
  return { cpu, keptPercent: (kept / people.length) * 100 }
}

/** Measures streams of one account, and streams of as many accounts. */
export async function measureStreams(rig: Rig): Promise<Curve> {
  const sizes = [10, 100, 1_000]
  const largest = Math.max(...sizes)
  assertOpenFiles(largest, 2)
  const store = await openAccountStore(rig, 'streams')
  await store.grow(largest + 50)
  const gateway = await startMeasuredGateway(rig, 'streams', store.variables, {
    operations: [document],
    // On a busy machine, the default time limits would fail requests.
    backends: {
      notifications: { url: await startService(rig), audience: 'notifications-service', timeoutMs: 30_000 },
    },
    database: { connectTimeoutMs: 30_000 },
    streams: { maxPerAccount: largest },
  })
  const people = await store.signIn(largest)
  const open: Open = (person) => {
    if (!person) throw new RangeError('too few accounts')
    return openSocket(gateway.url, streamPath, { ...person.headers, 'x-workspace-id': person.workspace })
  }
  // For the just-in-time compiler.
  const warm = await openSockets(200, () => open(people[0]))
  for (const stream of warm) stream.close()
  const idle = await measureMemory(gateway)
  const rows = []
  for (const size of sizes) {
    const ofOne = await openSockets(size, () => open(people[0]))
    const memory = await measureMemory(gateway)
    const cpuOfOne = await watchStreams(gateway, ofOne)
    for (const stream of ofOne) stream.close()
    const ofMany = await watchAccounts(gateway, people.slice(0, size), open)
    const values = [
      megabytes(memory.residentAfter),
      kilobytesEach(memory.live - idle.live, size),
      cpuOfOne,
      ofMany.cpu,
      ofMany.keptPercent,
    ]
    rows.push({ size, values })
  }
  return {
    title: 'Cost of open event streams with an event per second',
    size: 'streams',
    columns: [
      'MB resident',
      'KB live per stream',
      'CPU %, one account',
      'CPU %, each its account',
      '% kept, each its account',
    ],
    rows,
  }
}
