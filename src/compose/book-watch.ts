import type { Logger } from 'pino'
import type { Ledger } from '../ledger/index.ts'
import type { createLedgerMetrics } from '../platform/telemetry/index.ts'

export interface BookWatch {
  /** Rejects while the last check has found the book broken: the replica is then taken out of rotation. */
  check(): Promise<void>
  close(): Promise<void>
}

interface Parts {
  ledger: Pick<Ledger, 'readCheck'>
  logger: Logger
  metrics: ReturnType<typeof createLedgerMetrics>
}

const everyMs = 1_000

/**
 * Learns what the last check of the book has found, whichever replica made it: each answers for its own readiness. What
 * cannot be learned leaves it as it is, for the store's own probe tells of the store.
 */
export const watchBook = ({ ledger, logger, metrics }: Parts): BookWatch => {
  let broken: string | undefined
  let isSilent = false
  const look = async (): Promise<void> => {
    try {
      const last = await ledger.readCheck()
      broken = last?.broken?.rule
      if (last) metrics.checked(last.broken?.violations ?? 0, last.at)
      isSilent = false
    } catch (error) {
      if (!isSilent) logger.warn({ err: error }, 'what the last check of the book has found could not be read')
      isSilent = true
    }
  }
  let looking: Promise<void> | undefined
  // One look at a time: a store that is slow to answer would be left with more and more of them.
  const lookUnlessLooking = (): void => {
    looking ??= look().finally(() => {
      looking = undefined
    })
  }
  lookUnlessLooking()
  const timer = setInterval(lookUnlessLooking, everyMs).unref()
  return {
    check: async () => {
      if (broken !== undefined) throw new Error(`the book does not add up: ${broken}`)
    },
    close: async () => {
      clearInterval(timer)
      await looking
    },
  }
}
