import type { AccountId, Instant } from './scalars.ts'

/** An account that a thief may have used, and when it was recovered. */
export interface RecoveredAccount {
  accountId: AccountId
  at: Instant
}

/** By domain. */
export type SuspendedCredentials = Readonly<Record<string, number>>

export const suspendedDetail = (suspended: SuspendedCredentials): Record<string, number> =>
  Object.fromEntries(
    Object.entries(suspended)
      .filter(([, count]) => count > 0)
      .map(([domain, count]) => [`suspended.${domain}`, count]),
  )
