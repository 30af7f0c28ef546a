import { type Instant, type Locale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { apiKeyStatus } from './contract.ts'
import { statusAt } from './rules.ts'
import type { ApiKeyRow } from './store.ts'

/** An API key with its status at `at`, without its secret. */
export const toApiKeyView = (words: Words, row: ApiKeyRow, at: Instant, locale: Locale) => ({
  bizId: row.id,
  workspaceBizId: row.workspaceId,
  apiKeyName: row.name,
  keyPrefix: row.prefix,
  keyLast4: row.last4,
  apiKeyStatus: words.coded(apiKeyStatus, statusAt(row, at), locale),
  permissionCodes: row.permissionCodes,
  ipAllowlist: row.ipAllowlist,
  expiresAt: toIsoOrNull(row.expiresAt),
  lastUsedAt: toIsoOrNull(row.lastUsedAt),
  lastUsedIp: row.lastUsedIp,
  createdBy: row.createdBy,
  createdAt: toIso(row.createdAt),
  updatedAt: toIso(row.updatedAt),
})
