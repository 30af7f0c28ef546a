import { databaseFault, type Tx } from '../../database/index.ts'
import { type AccountId, addMs, type Instant, type MaybePromise, type Portal, Refusal } from '../../kernel/index.ts'
import { type AddressRange, covers, parseRange } from '../../platform/addresses/index.ts'
import { createLease } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { recordMatch, type WhitelistEntry, whitelistOf } from './store.ts'

export interface Guarded {
  portal: Portal
  accountId: AccountId
  ipWhitelistEnabled: boolean
}

/**
 * Lets an account's caller in from an address, or refuses with ACCESS.IP_NOT_ALLOWED. Inside a transaction it works on
 * that alone: a second connection might have to wait for it.
 */
export type AddressGuard = (account: Guarded, clientIp: string, tx?: Tx) => Promise<void>

export interface IpWhitelistGuard {
  admit: AddressGuard
  /** The account's set or its being in force has changed. */
  forget(accountId: AccountId): void
}

interface Range {
  id: string
  range: AddressRange
  notedAt: Instant | null
}

const parse = (entries: WhitelistEntry[]): Range[] =>
  entries.map(({ id, address, lastMatchedAt }) => ({ id, range: parseRange(address), notedAt: lastMatchedAt }))

/** A set serves for as long as the liveness of sessions does, and a match is written down as rarely as activity. */
export const createIpWhitelistGuard = (
  { database, clock }: IdentityPorts,
  { livenessMs, activityMs, remembered }: IdentitySettings['sessions'],
): IpWhitelistGuard => {
  const known = createLease<Range[]>(clock, { ms: livenessMs, max: remembered })

  const read = ({ portal, accountId }: Guarded): MaybePromise<Range[]> =>
    known.read(accountId, () => whitelistOf(database, portal, accountId).then(parse))

  /** A store that can be read and not written (its disk is full) still serves reading; a transaction has failed with it. */
  const note = async (
    { portal, accountId }: Guarded,
    { id }: Range,
    now: Instant,
    tx: Tx | undefined,
  ): Promise<void> => {
    try {
      await recordMatch(tx ?? database, { portal, accountId, id }, now, addMs(now, -activityMs))
    } catch (error) {
      if (tx || !databaseFault(error)) throw error
    }
  }

  return {
    admit: async (account, clientIp, tx) => {
      if (!account.ipWhitelistEnabled) return
      const ranges = tx ? parse(await whitelistOf(tx, account.portal, account.accountId)) : await read(account)
      const match = ranges.find(({ range }) => covers(range, clientIp))
      if (!match) throw new Refusal('ACCESS.IP_NOT_ALLOWED', { internal: 'outside the account’s whitelist' })
      const now = clock.now()
      if (match.notedAt !== null && now - match.notedAt < activityMs) return
      match.notedAt = now
      await note(account, match, now, tx)
    },
    forget: known.forget,
  }
}
