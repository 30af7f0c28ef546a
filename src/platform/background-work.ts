import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { detached } from '../database/index.ts'
import { createConcurrencyLimiter, maxTimerMs, type Randomness } from '../kernel/index.ts'

/**
 * Runs tasks without delaying a response, because its timing must not reveal whether a mail is sent. Use a job
 * (platform/jobs) for a task that must survive the process.
 */
export interface BackgroundWork {
  /** Never throws. Dropped and failed tasks are logged as errors. Returns false if it drops the task. */
  run(name: string, work: () => Promise<void>): boolean
  dropped(): number
  /** Number of tasks that wait for others. */
  waiting(): number
  idle(): Promise<void>
  /** Waits up to `closeMs` for the running and waiting tasks. */
  close(): Promise<void>
}

/** Times are in milliseconds. */
const defaults = {
  /** Below the five connections to the mail server, so that a code does not wait for notices. */
  concurrency: 4,
  /** Running and waiting tasks together. Further tasks are dropped: in an outage, memory must not grow. */
  capacity: 1_000,
  /** Maximum random delay before a task starts, so that response times do not reveal it. */
  spreadMs: 250,
  /** Wait after the first failed attempt. Doubles each time. A busy mail server accepts seconds later. */
  retryMs: 1_000,
  /** With the defaults of `shutdown`, a process stops within 30 s, the default grace period of Kubernetes. */
  closeMs: 5_000,
}

export type BackgroundSettings = Partial<typeof defaults> & { attempts: number }

interface Task {
  name: string
  work(): Promise<void>
}

export function createBackgroundWork(
  overrides: BackgroundSettings,
  log: Pick<Logger, 'warn' | 'error'>,
  randomness: Pick<Randomness, 'integer'>,
): BackgroundWork {
  const settings = { ...defaults, ...overrides }
  const stopping = new AbortController()
  // `run` enforces `capacity`.
  const { runLimited } = createConcurrencyLimiter({
    concurrency: settings.concurrency,
    waiting: Number.POSITIVE_INFINITY,
  })
  const tasks = new Set<Promise<void>>()
  let dropped = 0

  const drop = (fields: object, reason: string): false => {
    dropped += 1
    log.error(fields, reason)
    return false
  }

  /** Shutdown ends the wait early. */
  const wait = (ms: number): Promise<void> => pause(ms, undefined, { signal: stopping.signal }).catch(() => undefined)

  const runWithRetries = async ({ name, work }: Task): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt >= settings.attempts || stopping.signal.aborted) {
          drop({ err: error, task: name, attempt }, 'background task failed; giving up')
          return
        }
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
      // A task can start inside a transaction, which does not wait for it.
      const done = detached(() => execute({ name, work })).finally(() => tasks.delete(done))
      tasks.add(done)
      return true
    },
    dropped: () => dropped,
    waiting: () => Math.max(0, tasks.size - settings.concurrency),
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
