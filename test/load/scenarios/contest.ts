import { join } from 'node:path'
import { type Hits, type Shot, spray } from '../load/spray.ts'
import type { Options } from '../options.ts'
import type { Outcome } from '../report/outcome.ts'
import { ratios } from '../report/stats.ts'
import type { Gateway } from '../rig/gateway.ts'
import type { Started } from '../rig/processes.ts'
import { profiled } from '../rig/profile.ts'
import { emptyRow } from './rows.ts'

export interface Contender {
  process: Started
  shot: Shot
  /** Throws if a response is incorrect. */
  check(text: string, status: number): void
}

async function assertResponse({ process, shot, check }: Contender): Promise<void> {
  const { method, headers, body = null } = shot
  const response = await fetch(shot.url, { method, headers, body })
  const text = await response.text()
  try {
    check(text, response.status)
  } catch (error) {
    throw new Error(`${process.name} answers ${response.status} ${text.slice(0, 300)}`, { cause: error })
  }
}

export function rotated<T>(list: readonly T[], by: number): T[] {
  return [...list.slice(by % list.length), ...list.slice(0, by % list.length)]
}

/** With `--profile`, runs one more round. */
export async function keepProfile(
  outcome: Outcome,
  gateway: Gateway,
  { profile }: Options,
  load: () => Promise<unknown>,
): Promise<void> {
  if (!profile) return
  const file = join(process.cwd(), `portico-${outcome.scenario}.cpuprofile`)
  outcome.profiles.push(`${outcome.scenario}\n${await profiled(gateway, file, load)}`)
}

/** Rotates the order from round to round. Ratios are relative to Portico, the first row. */
export async function contest(
  scenario: string,
  contenders: readonly Contender[],
  gateway: Gateway,
  options: Options,
): Promise<Outcome> {
  const { rounds, seconds, connections } = options
  const rows = new Map(contenders.map(({ process: { name } }) => [name, emptyRow(scenario, name, 'requests')]))
  const outcome: Outcome = { scenario, rows: [...rows.values()], figures: [], notes: [], faults: [], profiles: [] }
  // The just-in-time compiler needs about ten thousand requests.
  for (const contender of contenders) {
    await assertResponse(contender)
    await spray(contender.shot, connections, 2 * seconds)
  }
  const measure = async (contender: Contender): Promise<void> => {
    const before = contender.process.cpuSeconds()
    const hits: Hits = await spray(contender.shot, connections, seconds)
    const spent = contender.process.cpuSeconds() - before
    const row = rows.get(contender.process.name)
    row?.perSecond.push(hits.requests / hits.seconds)
    row?.p50.push(hits.p50)
    row?.p99.push(hits.p99)
    row?.cpu.push((spent / hits.requests) * 10_000)
    if (hits.requests === 0) outcome.faults.push(`${contender.process.name}: no responses`)
    if (hits.failures > 0) outcome.faults.push(`${contender.process.name}: ${hits.failures} of ${hits.requests} failed`)
  }
  for (let round = 0; round < rounds; round++) for (const each of rotated(contenders, round)) await measure(each)
  for (const contender of contenders) await assertResponse(contender)
  const [own, ...others] = rows.values()
  for (const other of others)
    if (own)
      outcome.figures.push(
        { id: `${scenario}/${other.contender}`, values: ratios(own.perSecond, other.perSecond) },
        { id: `${scenario}/${other.contender}/cpu`, values: ratios(other.cpu, own.cpu) },
      )
  const [first] = contenders
  if (first) await keepProfile(outcome, gateway, options, () => spray(first.shot, connections, Math.max(5, seconds)))
  return outcome
}
