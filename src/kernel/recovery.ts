import type { AccountId, Instant } from './scalars.ts'

/** An account that a thief may have used, and when it was recovered. */
export interface RecoveredAccount {
  accountId: AccountId
  at: Instant
}

/** How many, or the id of each. */
export type Suspended = number | readonly string[]

/** By domain. */
export type SuspendedCredentials = Readonly<Record<string, Suspended>>

/** An audit entry is bounded. The lists of the domains have the rest. */
const maxListed = 100

/** The numbers by domain, and the detail of the audit entry: the numbers above 0, with the ids that domains list. */
export function summarizeSuspended(suspended: SuspendedCredentials) {
  const counts: Record<string, number> = {}
  const detail: Record<string, number | string> = {}
  for (const [domain, found] of Object.entries(suspended)) {
    const count = typeof found === 'number' ? found : found.length
    counts[domain] = count
    if (count > 0) detail[`suspended.${domain}`] = count
    if (count > 0 && typeof found !== 'number') detail[`suspended.${domain}.ids`] = found.slice(0, maxListed).join(',')
  }
  return { counts, detail }
}
