import { setTimeout as pause } from 'node:timers/promises'
import type { Variables } from '../../../src/config/env.ts'
import { type Line, openLine } from '../load/line.ts'
import { type Gateway, startGateway } from '../rig/gateway.ts'
import type { Rig } from '../rig/workspace.ts'

const collector = import.meta.resolve('./accounts-collector.ts')

/** SIGUSR2 collects garbage. */
export function startMeasuredGateway(
  rig: Rig,
  name: string,
  variables: Variables,
  configuration: object = {},
): Promise<Gateway> {
  return startGateway(rig, { name, variables, configuration, nodeOptions: ['--expose-gc', '--import', collector] })
}

export interface Memory {
  /** Resident bytes before the collection, as an operator sees them. */
  resident: number
  residentAfter: number
  /** Heap and buffers after the collection. */
  live: number
}

function gaugeOf(text: string, name: string): number {
  const [, value] = new RegExp(`^portico_nodejs_${name}_bytes (\\S+)$`, 'm').exec(text) ?? []
  if (value === undefined) throw new Error(`no metric ${name}`)
  return Number(value)
}

const collections = 3

/** The lowest values of several collections, because garbage and the allocator only add to them. */
export async function measureMemory(gateway: Gateway): Promise<Memory> {
  const memory = { resident: gateway.residentBytes(), residentAfter: Infinity, live: Infinity }
  for (let done = 0; done < collections; done++) {
    gateway.signal('SIGUSR2')
    await pause(1_000)
    const text = await (await fetch(`${gateway.operationsUrl}/metrics`)).text()
    const live = gaugeOf(text, 'heap_size_used') + gaugeOf(text, 'external_memory')
    memory.live = Math.min(memory.live, live)
    memory.residentAfter = Math.min(memory.residentAfter, gateway.residentBytes())
  }
  return memory
}

export function megabytes(bytes: number): number {
  return bytes / 1_048_576
}
export function kilobytesEach(bytes: number, count: number): number {
  return bytes / 1_024 / count
}

/** The gateway's `database.poolSize`: more would wait for a database connection. */
const loops = 16

/** Runs the step once per item, on a few connections. */
export async function forEachOnLines<T>(
  url: string,
  items: readonly T[],
  step: (line: Line, item: T) => Promise<void>,
): Promise<void> {
  const remaining = items.values()
  const loop = async (): Promise<void> => {
    const line = await openLine(url)
    try {
      for (const item of remaining) await step(line, item)
    } finally {
      line.close()
    }
  }
  await Promise.all(Array.from({ length: loops }, loop))
}

/** More requests than `explain.entries` keeps, and enough for the just-in-time compiler. */
const warmUpRequests = 12_000

export function warmUp(url: string, step: (line: Line) => Promise<void>): Promise<void> {
  return forEachOnLines(url, Array.from({ length: warmUpRequests }), step)
}
