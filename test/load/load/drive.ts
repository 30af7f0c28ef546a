import { setTimeout as pause } from 'node:timers/promises'
import { type Line, openLine } from './line.ts'

export interface Drive {
  url: string
  /** Each loop has a separate connection. */
  loops: number
  seconds: number
  /** Maximum steps per second of all loops. Latency then starts at the scheduled time and includes stalls. */
  pace?: number
  step(line: Line, loop: number): Promise<void>
}

export interface Driven {
  done: number
  seconds: number
  /** In milliseconds. */
  latencies: number[]
  failures: string[]
}

/** Waits for pending steps, so that acknowledged steps are counted exactly. */
export async function drive({ url, loops, seconds, pace, step }: Drive): Promise<Driven> {
  const latencies: number[] = []
  const failures: string[] = []
  const lines = await Promise.all(Array.from({ length: loops }, () => openLine(url)))
  const begun = performance.now()
  const until = begun + seconds * 1000
  const gap = pace === undefined ? 0 : (loops / pace) * 1000
  const loop = async (line: Line, index: number): Promise<void> => {
    let due = begun + (gap * index) / loops
    while (performance.now() < until) {
      if (gap > 0) {
        await pause(Math.max(0, due - performance.now()))
      }
      const start = gap > 0 ? due : performance.now()
      due += gap
      try {
        await step(line, index)
        latencies.push(performance.now() - start)
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error))
        if (failures.length > 20) return
      }
    }
  }
  await Promise.all(lines.map(loop))
  const took = (performance.now() - begun) / 1000
  for (const line of lines) line.close()
  return { done: latencies.length, seconds: took, latencies, failures }
}

export function formatFailures(name: string, { failures }: Driven): string[] {
  return failures.length === 0 ? [] : [`${name}: ${failures.length} failed, first: ${failures[0]?.slice(0, 300)}`]
}
