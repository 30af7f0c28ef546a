import type { LoadedDomain } from '../api/domain.ts'
import { ledgerDomains } from '../banking/index.ts'
import { type Configuration, placeOf, trialOf } from '../config/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { createLedgerMetrics } from '../platform/telemetry/index.ts'

export interface LedgerReadiness {
  /** Rejects if the last ledger check failed, so that load balancers send no requests. */
  check(): Promise<void>
  close(): Promise<void>
}

interface Parts {
  ledger: Pick<Ledger, 'readLastCheck'>
  onFault(error: unknown): void
  metrics: ReturnType<typeof createLedgerMetrics>
}

const everyMs = 1_000

/** If a poll fails, the last result remains, because the store's own probe reports the failure. */
export function watchLedger({ ledger, onFault, metrics }: Parts): LedgerReadiness {
  let broken: string | undefined
  const poll = async (): Promise<void> => {
    try {
      const last = await ledger.readLastCheck()
      broken = last?.broken?.rule
      if (last) metrics.checked(last.broken?.violations ?? 0, last.at, last.wholeVerifiedAt)
    } catch (error) {
      onFault(error)
    }
  }
  let polling: Promise<void> | undefined
  // Polls must not accumulate if the store is slow.
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

/** Domain names, by `in-process` or the URL of a service. */
export type LedgerPlaces = Readonly<Record<string, readonly string[]>>

/** Returns where the domains that share the ledger are served, or null if it is one place. */
export function findSplitLedger(
  domains: readonly LoadedDomain[],
  settings: Pick<Configuration, 'backends'>,
): LedgerPlaces | null {
  const places: Record<string, string[]> = {}
  for (const { name } of domains.filter(usesLedger)) {
    const place = placeName(settings, name)
    places[place] = [...(places[place] ?? []), name]
  }
  return Object.keys(places).length > 1 ? places : null
}

export const splitLedgerWarning = 'domains that share the ledger are served in different places'

/** `in-process: exchanges, transfers; http://127.0.0.1:8081: wallets`. */
export function describePlaces(places: LedgerPlaces): string {
  return Object.entries(places)
    .map(([place, names]) => `${place}: ${names.join(', ')}`)
    .join('; ')
}

/** A domain that declares order types, flow types or house accounts uses the ledger, too. */
function usesLedger({ name, isOurs, ledger = {} }: LoadedDomain): boolean {
  return isOurs ? ledgerDomains.has(name) : Object.keys(ledger).length > 0
}

function placeName(settings: Pick<Configuration, 'backends'>, domain: string): string {
  const place = placeOf(settings, domain)
  const { canary } = trialOf(settings, domain)
  const name = place === 'in-process' ? place : withoutSlash(place.url)
  return canary ? `${name} with the canary ${withoutSlash(canary.url)}` : name
}

function withoutSlash(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname.replace(/\/$/, '')
}
