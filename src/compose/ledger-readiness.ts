import type { Logger } from 'pino'
import type { Ledger } from '../ledger/index.ts'
import type { createLedgerMetrics } from '../platform/telemetry/index.ts'

export interface LedgerReadiness {
  /** Rejects if the last ledger check failed, so that load balancers send no requests to the replica. */
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
 * Polls the result of the last ledger check, which can have run on another replica. If a poll fails, the last result
 * stays: the probe of the store reports a store that is unavailable.
 */
export const watchLedger = ({ ledger, logger, metrics }: Parts): LedgerReadiness => {
  let broken: string | undefined
  let hasFailed = false
  const poll = async (): Promise<void> => {
    try {
      const last = await ledger.readLastCheck()
      broken = last?.broken?.rule
      if (last) metrics.checked(last.broken?.violations ?? 0, last.at)
      hasFailed = false
    } catch (error) {
      if (!hasFailed) logger.warn({ err: error }, 'result of the last ledger check could not be read')
      hasFailed = true
    }
  }
  let polling: Promise<void> | undefined
  // Only one poll runs at a time, so that they do not accumulate if the store is slow.
  const pollOnce = (): void => {
    polling ??= poll().finally(() => {
      polling = undefined
    })
  }
  pollOnce()
  const timer = setInterval(pollOnce, everyMs).unref()
  return {
    check: async () => {
      if (broken !== undefined) throw new Error(`ledger check failed: ${broken}`)
    },
    close: async () => {
      clearInterval(timer)
      await polling
    },
  }
}
