import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createConcurrencyLimiter, maxTimerMs, type Randomness } from '../kernel/index.ts'

/**
 * Runs tasks in this process that no response waits for, such as a mail whose sending neither the content nor the timing
 * of a response may reveal. A task that must survive the process is a job (platform/jobs).
 */
export interface BackgroundWork {
  /** Never throws. A task that exceeds the capacity or fails on every attempt is logged as an error. */
  run(name: string, work: () => Promise<void>): void
  /** Returns the number of tasks dropped since the start. */
  dropped(): number
  /** Resolves once nothing is running or waiting. */
  idle(): Promise<void>
  /** Accepts no more tasks, and waits up to `closeMs` for the running and waiting ones. */
  close(): Promise<void>
}

/** Limits and delays. Times are in milliseconds. */
export interface BackgroundSettings {
  /**
   * Maximum number of running tasks, and maximum number of running and waiting tasks together. Further tasks are
   * dropped.
   */
  concurrency: number
  capacity: number
  /** Tasks start after a random delay up to this, so that response times do not reveal whether there was a task. */
  spreadMs: number
  /** Maximum number of attempts, and the wait after the first one, which doubles each time. */
  attempts: number
  retryMs: number
  /** Maximum time that `close` waits. */
  closeMs: number
}

interface Task {
  name: string
  work(): Promise<void>
}

/** Creates a bounded queue of background tasks. */
export const createBackgroundWork = (
  settings: BackgroundSettings,
  log: Pick<Logger, 'warn' | 'error'>,
  randomness: Pick<Randomness, 'integer'>,
): BackgroundWork => {
  const stopping = new AbortController()
  // `run` limits the number of waiting tasks.
  const { runLimited } = createConcurrencyLimiter({
    concurrency: settings.concurrency,
    waiting: Number.POSITIVE_INFINITY,
  })
  const tasks = new Set<Promise<void>>()
  let dropped = 0

  const drop = (fields: object, reason: string): void => {
    dropped += 1
    log.error(fields, reason)
  }

  /** Ends early when the process shuts down. */
  const wait = (ms: number): Promise<void> => pause(ms, undefined, { signal: stopping.signal }).catch(() => undefined)

  const runWithRetries = async ({ name, work }: Task): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt >= settings.attempts || stopping.signal.aborted)
          return drop({ err: error, task: name, attempt }, 'background task failed; giving up')
        log.warn({ err: error, task: name, attempt }, 'background task failed; retrying')
        await wait(Math.min(settings.retryMs * 2 ** (attempt - 1), maxTimerMs))
      }
    }
  }

  const execute = async (task: Task): Promise<void> => {
    await wait(randomness.integer(settings.spreadMs + 1))
    await runLimited(() => runWithRetries(task))
  }

  const idle = async (): Promise<void> => {
    while (tasks.size > 0) await Promise.all(tasks)
  }

  return {
    run: (name, work) => {
      if (stopping.signal.aborted) return drop({ task: name }, 'background task dropped: shutting down')
      if (tasks.size >= settings.capacity) return drop({ task: name }, 'background task dropped: queue full')
      const done = execute({ name, work }).finally(() => tasks.delete(done))
      tasks.add(done)
    },
    dropped: () => dropped,
    idle,
    close: async () => {
      stopping.abort()
      const timeout = new AbortController()
      await Promise.race([
        idle(),
        pause(settings.closeMs, undefined, { signal: timeout.signal }).catch(() => undefined),
      ])
      timeout.abort()
    },
  }
}
