import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'

/**
 * Work that nobody waits for, in this process alone: mails whose sending an answer must not depend on, in bytes or in
 * time. What has to survive the process is a job (platform/jobs).
 */
export interface Background {
  /** Begins at once or as soon as there is room. It never throws: what is given up is logged as an error. */
  run(name: string, work: () => Promise<void>): void
  /** Until nothing is under way or waiting. */
  idle(): Promise<void>
  /** Lets what is under way end, for a bounded time. */
  close(): Promise<void>
}

export interface BackgroundSettings {
  /** How many run at once, and how many may wait; what comes beyond is given up. */
  concurrency: number
  capacity: number
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

export const createBackground = (settings: BackgroundSettings, log: Pick<Logger, 'warn' | 'error'>): Background => {
  const stopping = new AbortController()
  const waiting: Task[] = []
  const running = new Set<Promise<void>>()

  const carryOut = async ({ name, work }: Task): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt >= settings.attempts || stopping.signal.aborted)
          return log.error({ err: error, task: name, attempt }, 'background work was given up')
        log.warn({ err: error, task: name, attempt }, 'background work failed and is tried again')
        const wait = settings.retryMs * 2 ** (attempt - 1)
        await pause(wait, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined)
      }
    }
  }

  const begin = (task: Task): void => {
    const done = carryOut(task).finally(() => {
      running.delete(done)
      const next = waiting.shift()
      if (next) begin(next)
    })
    running.add(done)
  }

  const idle = async (): Promise<void> => {
    while (running.size > 0) await Promise.all(running)
  }

  return {
    run: (name, work) => {
      if (stopping.signal.aborted) return log.error({ task: name }, 'background work came too late')
      if (running.size < settings.concurrency) begin({ name, work })
      else if (waiting.length < settings.capacity) waiting.push({ name, work })
      else log.error({ task: name }, 'too much background work: given up')
    },
    idle,
    close: async () => {
      stopping.abort()
      const late = new AbortController()
      await Promise.race([idle(), pause(settings.closeMs, undefined, { signal: late.signal }).catch(() => undefined)])
      late.abort()
    },
  }
}
