import type { Logger } from 'pino'
import type { Ledger } from '../ledger/index.ts'
import type { createLedgerMetrics } from '../platform/telemetry/index.ts'

export interface LedgerReadiness {
  /** Rejects while the last ledger check has found an error, so that the replica leaves the rotation. */
  check(): Promise<void>
  close(): Promise<void>
}

interface Parts {
  ledger: Pick<Ledger, 'readLastCheck'>
  logger: Logger
  metrics: ReturnType<typeof createLedgerMetrics>
}

const everyMs = 1_000

/**
 * Polls the result of the last ledger check, on whichever replica it ran. A failed poll keeps the last known result: the
 * probe of the store reports a store that is down.
 */
export const watchLedger = ({ ledger, logger, metrics }: Parts): LedgerReadiness => {
  let broken: string | undefined
  let isSilent = false
  const look = async (): Promise<void> => {
    try {
      const last = await ledger.readLastCheck()
      broken = last?.broken?.rule
      if (last) metrics.checked(last.broken?.violations ?? 0, last.at)
      isSilent = false
    } catch (error) {
      if (!isSilent) logger.warn({ err: error }, 'what the last check of the book has found could not be read')
      isSilent = true
    }
  }
  let looking: Promise<void> | undefined
  // One poll at a time, so that polls do not pile up on a slow store.
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
