import { toIso, toIsoOrNull } from '../../kernel/index.ts'
import type { WhitelistEntry } from './store.ts'

/** An account's IP whitelist. */
export interface Whitelist {
  enabled: boolean
  entries: WhitelistEntry[]
}

export const toWhitelistView = ({ enabled, entries }: Whitelist) => ({
  enabled,
  entries: entries.map(({ id, createdAt, lastMatchedAt, ...entry }) => ({
    bizId: id,
    ...entry,
    createdAt: toIso(createdAt),
    lastMatchedAt: toIsoOrNull(lastMatchedAt),
  })),
})
