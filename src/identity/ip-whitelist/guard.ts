import { isDatabaseUnavailable, type Tx } from '../../database/index.ts'
import { addMs, type Instant, type MaybePromise, Refusal } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import { containsAddress, type IpRange, parseRange } from '../../platform/ip-ranges.ts'
import type { AddressGuard, GuardedAccount, IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { listWhitelist, recordMatch, type WhitelistEntry } from './store.ts'

interface GuardRange {
  id: string
  range: IpRange
  matchedAt: Instant | null
}

export function createAddressGuard(
  { database, clock }: IdentityPorts,
  { cacheTtlMs, activityIntervalMs, cacheSize }: IdentitySettings['sessions'],
): AddressGuard {
  const cache = createTtlCache<GuardRange[]>(clock, { ms: cacheTtlMs, max: cacheSize })

  const readRanges = ({ portal, accountId }: GuardedAccount): MaybePromise<GuardRange[]> =>
    cache.read(accountId, () => listWhitelist(database, portal, accountId).then(toRanges))

  /** Outside a transaction, ignores an unavailable or read-only store, because the request may only read. */
  const record = async (
    { portal, accountId }: GuardedAccount,
    { id }: GuardRange,
    now: Instant,
    tx: Tx | undefined,
  ): Promise<void> => {
    try {
      await recordMatch(tx ?? database, { portal, accountId, id }, now, addMs(now, -activityIntervalMs))
    } catch (error) {
      if (tx || !isDatabaseUnavailable(error)) throw error
    }
  }

  return {
    assertAllowed: async (account, clientIp, tx) => {
      if (!account.ipWhitelistEnabled) return
      const { portal, accountId } = account
      const ranges = tx ? toRanges(await listWhitelist(tx, portal, accountId)) : await readRanges(account)
      const match = ranges.find(({ range }) => containsAddress(range, clientIp))
      if (!match)
        throw new Refusal('ACCESS.IP_NOT_ALLOWED', { internal: 'the address is not on the account’s whitelist' })
      const now = clock.now()
      if (match.matchedAt !== null && now - match.matchedAt < activityIntervalMs) return
      match.matchedAt = now
      await record(account, match, now, tx)
    },
    invalidate: (accountId) => cache.invalidate(accountId),
  }
}

function toRanges(entries: WhitelistEntry[]): GuardRange[] {
  return entries.map(({ id, address, lastMatchedAt }) => ({ id, range: parseRange(address), matchedAt: lastMatchedAt }))
}
