import { sql } from 'kysely'
import { type Database, moment, readPage } from '../../database/index.ts'
import type { Instant, Page, PageRequest, WorkspaceId } from '../../kernel/index.ts'
import type { ApiKeyStatus } from './contract.ts'
import { type ApiKeyRow, apiKeyColumns } from './store.ts'

export interface ApiKeyQuery extends PageRequest {
  workspaceId: WorkspaceId
  /** Deleted keys are listed only where they are asked for. */
  status: ApiKeyStatus | undefined
  /** How the public part begins. */
  prefix: string | undefined
  from: Instant | undefined
  to: Instant | undefined
  sortBy: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
}

const sortColumns = { createdAt: 'created_at', updatedAt: 'updated_at' } as const

/** Sorts after whatever can follow in a prefix, which is hexadecimal. */
const last = '~'

const matching = (database: Database, query: ApiKeyQuery, at: Instant) => {
  let found = database.selectFrom('api_keys').where('workspace_biz_id', '=', query.workspaceId)
  const expired = sql<boolean>`(expires_at IS NOT NULL AND expires_at <= ${moment(at)})`
  if (query.status === undefined) found = found.where('api_key_status', '!=', 'DELETED')
  else if (query.status === 'EXPIRED') found = found.where('api_key_status', '!=', 'DELETED').where(expired)
  else found = found.where('api_key_status', '=', query.status)
  if (query.status === 'ACTIVE' || query.status === 'DISABLED') found = found.where(sql<boolean>`NOT ${expired}`)
  if (query.prefix !== undefined) {
    const bytes = sql<string>`key_prefix COLLATE "C"`
    found = found.where(bytes, '>=', query.prefix).where(bytes, '<', query.prefix + last)
  }
  if (query.from !== undefined) found = found.where('created_at', '>=', moment(query.from))
  if (query.to !== undefined) found = found.where('created_at', '<=', moment(query.to))
  return found
}

export const listKeys = (database: Database, query: ApiKeyQuery, at: Instant): Promise<Page<ApiKeyRow>> => {
  const found = matching(database, query, at)
  const ordered = found
    .select(apiKeyColumns)
    .orderBy(sortColumns[query.sortBy], query.sortOrder)
    .orderBy('biz_id', query.sortOrder)
  return readPage(found, ordered, query)
}
