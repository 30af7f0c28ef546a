import type { Logger } from 'pino'
import type { Clock } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { createBookMetrics } from '../platform/telemetry/index.ts'

export interface BookWatch {
  /** Rejects while the last check has found the book broken: the replica is then taken out of rotation. */
  check(): Promise<void>
  close(): Promise<void>
}

interface Parts {
  ledger: Ledger
  clock: Clock
  logger: Logger
  metrics: ReturnType<typeof createBookMetrics>
  everyMs: number
}

/** How soon after the start: the store has other things to do first, and an embedded one does one thing at a time. */
const soonMs = 500

/**
 * Checks the book soon after the start and again and again after it. Every replica checks for itself, since each answers for its own
 * readiness; a check that cannot be made says nothing of the book and leaves the last one's finding as it is.
 */
export const watchBook = ({ ledger, clock, logger, metrics, everyMs }: Parts): BookWatch => {
  let broken: Awaited<ReturnType<Ledger['verifyBook']>> = null
  const look = async (): Promise<void> => {
    try {
      broken = await ledger.verifyBook()
      metrics.checked(broken?.violations ?? 0, clock.now())
      if (broken) logger.error(broken, 'the book does not add up')
    } catch (error) {
      logger.warn({ err: error }, 'the book could not be checked')
    }
  }
  let looking = Promise.resolve()
  const next = (): void => {
    looking = looking.then(look)
  }
  const first = setTimeout(next, soonMs).unref()
  const timer = setInterval(next, everyMs).unref()
  return {
    check: async () => {
      if (broken) throw new Error(`the book does not add up: ${broken.rule}`)
    },
    close: async () => {
      clearTimeout(first)
      clearInterval(timer)
      await looking
    },
  }
}
