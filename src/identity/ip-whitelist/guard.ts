import { isDatabaseUnavailable, type Tx } from '../../database/index.ts'
import { addMs, BatchLoader, type Instant, type MaybePromise, Refusal } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import { containsAddress, type IpRange, parseRange } from '../../platform/ip-ranges.ts'
import type { AddressGuard, GuardedAccount, IdentityPorts } from '../ports.ts'
import { streamMaxAgeMs } from '../sessions/session-cache.ts'
import type { IdentitySettings } from '../settings.ts'
import { listWhitelist, listWhitelists, recordMatch, type WhitelistEntry, type WhitelistKey } from './store.ts'

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

  const ofStreams = new BatchLoader(nameOf, async (keys: WhitelistKey[]) => {
    const rows = await listWhitelists(database, keys)
    return new Map(
      Object.entries(Object.groupBy(rows, nameOf)).map(([name, entries = []]) => [name, toRanges(entries)]),
    )
  })

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
      const match = matchIn(ranges, clientIp)
      const now = clock.now()
      if (match.matchedAt !== null && now - match.matchedAt < activityIntervalMs) return
      match.matchedAt = now
      await record(account, match, now, tx)
    },
    assertStillAllowed: async ({ ipWhitelistEnabled, portal, accountId }, clientIp) => {
      if (!ipWhitelistEnabled) return
      const load = async (): Promise<GuardRange[]> => (await ofStreams.load({ portal, accountId })) ?? []
      matchIn(await cache.read(accountId, load, streamMaxAgeMs), clientIp)
    },
    invalidate: (accountId) => cache.invalidate(accountId),
  }
}

function nameOf({ portal, accountId }: WhitelistKey): string {
  return `${portal} ${accountId}`
}

function matchIn(ranges: readonly GuardRange[], clientIp: string): GuardRange {
  const match = ranges.find(({ range }) => containsAddress(range, clientIp))
  if (!match) throw new Refusal('ACCESS.IP_NOT_ALLOWED', { internal: 'the address is not on the account’s whitelist' })
  return match
}

function toRanges(entries: readonly Pick<WhitelistEntry, 'id' | 'address' | 'lastMatchedAt'>[]): GuardRange[] {
  return entries.map(({ id, address, lastMatchedAt }) => ({ id, range: parseRange(address), matchedAt: lastMatchedAt }))
}
