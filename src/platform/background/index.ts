import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createConcurrencyLimiter, maxTimerMs, type Randomness } from '../../kernel/index.ts'

/**
 * Work that nobody waits for, in this process alone: mails whose sending an answer must not depend on, in bytes or in
 * time. What has to survive the process is a job (platform/jobs).
 */
export interface Background {
  /** It never throws: what does not fit or fails for good is logged as an error. */
  run(name: string, work: () => Promise<void>): void
  /** How much has been given up so far, for whatever reason. */
  givenUp(): number
  /** Until nothing is under way or waiting. */
  idle(): Promise<void>
  /** Lets what is there end, for a bounded time. */
  close(): Promise<void>
}

export interface BackgroundSettings {
  /** How many run at once, and how many there may be in all; what comes beyond is given up. */
  concurrency: number
  capacity: number
  /** Work begins at some moment within so long, so that neither the answer nor what follows it tells whether there was any. */
  spreadMs: number
  /** Tries of each, the first wait between two of them, which doubles. */
  attempts: number
  retryMs: number
  /** How long `close` waits. */
  closeMs: number
}

interface Task {
  name: string
  work(): Promise<void>
}

export const createBackground = (
  settings: BackgroundSettings,
  log: Pick<Logger, 'warn' | 'error'>,
  randomness: Pick<Randomness, 'integer'>,
): Background => {
  const stopping = new AbortController()
  // As many may wait as `run` lets in.
  const { runLimited: inTurn } = createConcurrencyLimiter({
    concurrency: settings.concurrency,
    waiting: Number.POSITIVE_INFINITY,
  })
  const held = new Set<Promise<void>>()
  let lost = 0

  const giveUp = (told: object, why: string): void => {
    lost += 1
    log.error(told, why)
  }

  /** Cut short when the process goes down. */
  const wait = (ms: number): Promise<void> => pause(ms, undefined, { signal: stopping.signal }).catch(() => undefined)

  const tryTo = async ({ name, work }: Task): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt >= settings.attempts || stopping.signal.aborted)
          return giveUp({ err: error, task: name, attempt }, 'background work was given up')
        log.warn({ err: error, task: name, attempt }, 'background work failed and is tried again')
        await wait(Math.min(settings.retryMs * 2 ** (attempt - 1), maxTimerMs))
      }
    }
  }

  const carryOut = async (task: Task): Promise<void> => {
    await wait(randomness.integer(settings.spreadMs + 1))
    await inTurn(() => tryTo(task))
  }

  const idle = async (): Promise<void> => {
    while (held.size > 0) await Promise.all(held)
  }

  return {
    run: (name, work) => {
      if (stopping.signal.aborted) return giveUp({ task: name }, 'background work came too late')
      if (held.size >= settings.capacity) return giveUp({ task: name }, 'too much background work: given up')
      const done = carryOut({ name, work }).finally(() => held.delete(done))
      held.add(done)
    },
    givenUp: () => lost,
    idle,
    close: async () => {
      stopping.abort()
      const late = new AbortController()
      await Promise.race([idle(), pause(settings.closeMs, undefined, { signal: late.signal }).catch(() => undefined)])
      late.abort()
    },
  }
}
