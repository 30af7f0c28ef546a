import { setTimeout as pause } from 'node:timers/promises'
import { type Line, openLine } from './line.ts'

export interface Drive {
  url: string
  /** Loops that each have a connection and begin their next step when the last one has ended. */
  loops: number
  seconds: number
  /**
   * Steps a second of all loops together; as many as there can be otherwise. A step that had to wait for its turn is
   * timed from when it was due, so that a stall is counted for everybody whom it held up.
   */
  pace?: number
  step(line: Line, loop: number): Promise<void>
}

export interface Driven {
  done: number
  seconds: number
  /** Milliseconds of each step. */
  latencies: number[]
  /** What went wrong, the first of it in words. */
  failures: string[]
}

/** Every step that was begun is waited for, so that what was acknowledged is known exactly. */
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

/** The first few failures, for the list of faults. */
export const told = (name: string, { failures }: Driven): string[] =>
  failures.length === 0 ? [] : [`${name}: ${failures.length} failed, first: ${failures[0]?.slice(0, 300)}`]
