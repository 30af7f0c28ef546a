import { setTimeout as pause } from 'node:timers/promises'
import { type Line, openLine } from './line.ts'

export interface Drive {
  url: string
  /** Number of concurrent loops. Each loop has a separate connection. */
  loops: number
  seconds: number
  /**
   * Maximum steps per second of all loops. Unlimited if omitted. With a pace, latency starts at the scheduled time of a
   * step and therefore includes stalls.
   */
  pace?: number
  step(line: Line, loop: number): Promise<void>
}

export interface Driven {
  done: number
  seconds: number
  /** Durations of the steps, in milliseconds. */
  latencies: number[]
  /** One error message for each failed step. */
  failures: string[]
}

/** Runs steps for `seconds` and waits for the pending ones. The number of acknowledged steps is therefore exact. */
export const drive = async ({ url, loops, seconds, pace, step }: Drive): Promise<Driven> => {
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

/** Formats the number of failures and the first message. Returns an empty list if nothing failed. */
export const formatFailures = (name: string, { failures }: Driven): string[] =>
  failures.length === 0 ? [] : [`${name}: ${failures.length} failed, first: ${failures[0]?.slice(0, 300)}`]
