import { type Instant, type Locale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { apiKeyCredential, apiKeyStatus } from './contract.ts'
import type { OperatorKeyRow } from './operator-keys/store.ts'
import { type ApiKeySettings, endOfLife, expiresSoon, operatorKeySettings, statusAt } from './rules.ts'
import type { ApiKeyRow } from './store.ts'

interface ViewPorts {
  words: Words
  settings: ApiKeySettings
}

/** Returns an API key as clients see it, without its secret. The status EXPIRED depends on `at`. */
export function toApiKeyView(ports: ViewPorts, row: ApiKeyRow, at: Instant, locale: Locale) {
  return { ...toKeyView(ports, row, at, locale), workspaceBizId: row.workspaceBizId }
}

export function toOperatorKeyView({ words, settings }: ViewPorts, row: OperatorKeyRow, at: Instant, locale: Locale) {
  const view = toKeyView({ words, settings: operatorKeySettings(settings) }, row, at, locale)
  return { ...view, providerId: row.providerId }
}

function toKeyView({ words, settings }: ViewPorts, row: ApiKeyRow | OperatorKeyRow, at: Instant, locale: Locale) {
  return {
    bizId: row.bizId,
    apiKeyName: row.apiKeyName,
    keyPrefix: row.keyPrefix,
    keyLast4: row.keyLast4,
    credential: words.coded(apiKeyCredential, row.credential, locale),
    credentialThumbprint: row.credentialThumbprint,
    apiKeyStatus: words.coded(apiKeyStatus, statusAt(row, at, settings), locale),
    permissionCodes: row.permissionCodes,
    ipAllowlist: row.ipAllowlist,
    expiresAt: toIsoOrNull(endOfLife(row, settings)),
    expiresSoon: expiresSoon(row, at, settings),
    lastUsedAt: toIsoOrNull(row.lastUsedAt),
    lastUsedIp: row.lastUsedIp,
    createdBy: row.createdBy,
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}
