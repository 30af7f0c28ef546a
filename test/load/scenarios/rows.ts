import type { Driven } from '../load/drive.ts'
import type { Row } from '../report/outcome.ts'
import { quantile } from '../report/stats.ts'
import type { Started } from '../rig/processes.ts'

export function emptyRow(scenario: string, contender: string, unit: string): Row {
  return {
    scenario,
    contender,
    unit,
    perSecond: [],
    p50: [],
    p99: [],
    cpu: [],
  }
}

export function addRound(row: Row, { done, seconds, latencies }: Omit<Driven, 'failures'>, cpuSeconds: number): void {
  row.perSecond.push(done / seconds)
  row.cpu.push((cpuSeconds / done) * 10_000)
  if (latencies.length === 0) return
  row.p50.push(quantile(latencies, 0.5))
  row.p99.push(quantile(latencies, 0.99))
}

export async function measured<T extends Omit<Driven, 'failures'>>(
  row: Row,
  process: Started,
  round: () => Promise<T>,
): Promise<T> {
  const before = process.cpuSeconds()
  const result = await round()
  addRound(row, result, process.cpuSeconds() - before)
  return result
}

/** The peer measures itself (peers/runs.ts). */
export async function runPeer(peer: Started, seconds: number) {
  const response = await fetch(`${peer.url}/run?seconds=${seconds}`)
  const { done, seconds: took }: { done: number; seconds: number } = JSON.parse(await response.text())
  return { done, seconds: took, latencies: [] }
}
