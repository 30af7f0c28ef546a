import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createConcurrencyLimiter, maxTimerMs, type Randomness } from '../kernel/index.ts'

/**
 * Work in this process that no response waits for, such as mails whose sending a response must not reveal, by its content
 * or its time. Work that must survive the process is a job (platform/jobs).
 */
export interface BackgroundWork {
  /** Never throws. Work that exceeds the capacity or fails on every attempt is logged as an error. */
  run(name: string, work: () => Promise<void>): void
  /** Number of tasks dropped so far, for any reason. */
  dropped(): number
  /** Resolves once nothing is running or waiting. */
  idle(): Promise<void>
  /** Accepts no more work, and waits up to `closeMs` for the rest. */
  close(): Promise<void>
}

export interface BackgroundSettings {
  /** Maximum number of running tasks, and of running and waiting ones. Further tasks are dropped. */
  concurrency: number
  capacity: number
  /** Tasks start after a random delay up to this, so that response times do not reveal whether there was a task. */
  spreadMs: number
  /** Maximum number of attempts, and the wait after the first one, which doubles each time. */
  attempts: number
  retryMs: number
  /** How long `close` waits. */
  closeMs: number
}

interface Task {
  name: string
  work(): Promise<void>
}

export const createBackgroundWork = (
  settings: BackgroundSettings,
  log: Pick<Logger, 'warn' | 'error'>,
  randomness: Pick<Randomness, 'integer'>,
): BackgroundWork => {
  const stopping = new AbortController()
  // `run` limits the number of waiting tasks.
  const { runLimited: inTurn } = createConcurrencyLimiter({
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
          return drop({ err: error, task: name, attempt }, 'background work was given up')
        log.warn({ err: error, task: name, attempt }, 'background work failed and is tried again')
        await wait(Math.min(settings.retryMs * 2 ** (attempt - 1), maxTimerMs))
      }
    }
  }

  const execute = async (task: Task): Promise<void> => {
    await wait(randomness.integer(settings.spreadMs + 1))
    await inTurn(() => runWithRetries(task))
  }

  const idle = async (): Promise<void> => {
    while (tasks.size > 0) await Promise.all(tasks)
  }

  return {
    run: (name, work) => {
      if (stopping.signal.aborted) return drop({ task: name }, 'background work came too late')
      if (tasks.size >= settings.capacity) return drop({ task: name }, 'too much background work: given up')
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
