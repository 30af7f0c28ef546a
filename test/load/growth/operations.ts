import { setTimeout as pause } from 'node:timers/promises'
import { bankingCatalogue } from '../../../src/contract/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { openLine } from '../load/line.ts'
import { chain, perimeter, signIn } from '../load/people.ts'
import { type Shot, spray } from '../load/spray.ts'
import type { Options } from '../options.ts'
import { median } from '../report/stats.ts'
import { type Gateway, startGateway } from '../rig/gateway.ts'
import type { Rig } from '../rig/workspace.ts'
import { rotated } from '../scenarios/contest.ts'
import { seededStore } from '../store/stores.ts'
import { lastPath, writeExtension } from './operations-extension.ts'
import type { Curve } from './table.ts'

const own = bankingCatalogue.operations.length
/** The small case has generated operations, too, so that every size has all columns. */
const sizes = [own + 10, 500, 1_500]
const starts = 3
const cachedReads = 20

const columns = [
  'start ms',
  'start CPU ms',
  'CPU µs per GET',
  'CPU µs per GET of the extension',
  'resident MB',
  'first /openapi.json ms',
  'cached /openapi.json ms',
]

interface Case {
  operations: number
  start(): Promise<Gateway>
  startMs: number[]
  startCpuMs: number[]
  ownCpu: number[]
  extensionCpu: number[]
  residentMb: number[]
}

async function createCase(rig: Rig, { store }: Options, operations: number): Promise<Case> {
  const extension = writeExtension(rig.file(`extension-${operations}`), operations - own)
  const { variables } = await seededStore(store)
  const configuration = { extensions: [extension] }
  const start = () => startGateway(rig, { name: `operations-${operations}`, variables, configuration })
  const empty = { startMs: [], startCpuMs: [], ownCpu: [], extensionCpu: [], residentMb: [] }
  return { operations, start, ...empty }
}

/** A gateway that has just begun to listen does not drain on a signal yet. */
async function waitUntilReady({ operationsUrl }: Gateway): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const response = await fetch(`${operationsUrl}/health/ready`).catch(() => null)
    if (response?.ok) return
    await pause(50)
  }
  throw new Error('a gateway did not become ready')
}

async function measureStart(each: Case): Promise<Gateway> {
  const begun = performance.now()
  const gateway = await each.start()
  each.startMs.push(performance.now() - begun)
  each.startCpuMs.push(gateway.cpuSeconds() * 1_000)
  await waitUntilReady(gateway)
  return gateway
}

/** Milliseconds of the first response and the median of the following ones, which come from a cache. */
async function measureDocument(url: string): Promise<readonly [first: number, cached: number]> {
  const line = await openLine(url)
  const headers = { ...perimeter(), 'accept-encoding': 'gzip' }
  const read = async (): Promise<number> => {
    const begun = performance.now()
    const { status } = await line.sendRequest({ method: 'GET', path: '/openapi.json', headers })
    if (status !== 200) throw new Error(`/openapi.json: ${status}`)
    return performance.now() - begun
  }
  const first = await read()
  const cached: number[] = []
  for (let index = 0; index < cachedReads; index++) cached.push(await read())
  line.close()
  return [first, median(cached)]
}

interface Running extends Case {
  gateway: Gateway
  document: readonly [first: number, cached: number]
  ownShot: Shot
  extensionShot: Shot
}

async function run(each: Case): Promise<Running> {
  const gateway = await measureStart(each)
  const document = await measureDocument(gateway.url)
  const headers = { ...(await signIn(gateway)), 'x-workspace-id': developmentIds.workspace }
  const get = (path: string): Shot => ({ method: 'GET', url: gateway.url + chain + path, headers })
  const extensionShot = get(lastPath(each.operations - own))
  return { ...each, gateway, document, ownShot: get('/roles/permissions/tree'), extensionShot }
}

async function measureRound(
  { operations, gateway, ownShot, extensionShot, ownCpu, extensionCpu, residentMb }: Running,
  { connections, seconds }: Options,
): Promise<void> {
  for (const [shot, values] of [
    [ownShot, ownCpu],
    [extensionShot, extensionCpu],
  ] as const) {
    const before = gateway.cpuSeconds()
    const { requests, failures } = await spray(shot, connections, seconds)
    if (requests === 0 || failures > 0)
      throw new Error(`${operations} operations: ${failures} of ${requests} requests failed`)
    values.push(((gateway.cpuSeconds() - before) / requests) * 1_000_000)
  }
  residentMb.push(gateway.residentBytes() / 1_048_576)
}

/**
 * Measures three catalogues that differ only in generated operations. Neither GET opens the store: the first reads the
 * tree of permissions, the other is the last generated operation.
 */
export async function measureOperations(rig: Rig, options: Options): Promise<Curve> {
  const cases: Case[] = []
  for (const size of sizes) cases.push(await createCase(rig, options, size))
  // The first start seeds the demo accounts and fills the compile cache.
  for (const each of cases) await (await measureStart(each)).stop()
  for (const { startMs, startCpuMs } of cases) for (const values of [startMs, startCpuMs]) values.length = 0
  for (let start = 1; start < starts; start++)
    for (const each of rotated(cases, start)) await (await measureStart(each)).stop()
  const running: Running[] = []
  for (const each of cases) running.push(await run(each))
  // The just-in-time compiler needs about ten thousand requests.
  for (const { ownShot, extensionShot } of running)
    for (const shot of [ownShot, extensionShot]) await spray(shot, options.connections, 2 * options.seconds)
  for (let round = 0; round < options.rounds; round++)
    for (const each of rotated(running, round)) await measureRound(each, options)
  const rows = running.map(
    ({ operations, startMs, startCpuMs, ownCpu, extensionCpu, residentMb, document: [first, cached] }) => ({
      size: operations,
      values: [...[startMs, startCpuMs, ownCpu, extensionCpu, residentMb].map(median), first, cached],
    }),
  )
  return { title: 'Operations in the catalogue', size: 'operations', columns, rows }
}
