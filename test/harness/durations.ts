import type { Durations, Timer } from '../../src/kernel/index.ts'

export interface MovableDurations extends Durations {
  /** Moves the time, and runs the timers that expire in it, in their order. */
  skip(milliseconds: number): void
  /** From now on, only `skip` moves the time of timers that start afterwards. */
  stop(): void
  resume(): void
  /** Number of timers that run. */
  timers(): number
}

interface Waiting {
  expiresAt: number
  run(): void
}

/** Real time, which a test can also skip. With long times, only `skip` reaches them, however slow the machine is. */
export function createMovableDurations(): MovableDurations {
  let skipped = 0
  let stoppedAt: number | null = null
  // Whole milliseconds, because a sum of fractions can be less than the time limit that it should reach.
  const now = (): number => Math.floor(stoppedAt ?? performance.now()) + skipped
  const waiting = new Set<Waiting>()

  const start = (milliseconds: number, task: () => void, isRepeated: boolean): Timer => {
    let handle: NodeJS.Timeout | undefined
    const stop = (): void => {
      clearTimeout(handle)
      waiting.delete(timer)
    }
    const refresh = (): void => {
      stop()
      timer.expiresAt = now() + milliseconds
      waiting.add(timer)
      // Like other timers of the gateway, it does not keep a test's process alive.
      if (stoppedAt === null) handle = setTimeout(timer.run, milliseconds).unref()
    }
    const timer: Waiting = {
      expiresAt: 0,
      run: () => {
        if (isRepeated) refresh()
        else stop()
        task()
      },
    }
    refresh()
    return { refresh, unref: () => undefined, close: stop }
  }

  const nextBefore = (end: number): Waiting | undefined =>
    [...waiting].filter(({ expiresAt }) => expiresAt <= end).sort((one, other) => one.expiresAt - other.expiresAt)[0]

  return {
    now,
    after: (milliseconds, task) => start(milliseconds, task, false),
    every: (milliseconds, task) => start(milliseconds, task, true),
    skip: (milliseconds) => {
      const end = now() + milliseconds
      for (let next = nextBefore(end); next; next = nextBefore(end)) {
        skipped += Math.max(0, next.expiresAt - now())
        next.run()
      }
      skipped += Math.max(0, end - now())
    },
    stop: () => {
      stoppedAt ??= performance.now()
    },
    resume: () => {
      stoppedAt = null
    },
    timers: () => waiting.size,
  }
}
