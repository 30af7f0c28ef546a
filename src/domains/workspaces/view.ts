import type { z } from 'zod'
import { type Locale, toIso, type Words, workspaceKind, workspaceStatus } from '../../kernel/index.ts'
import type { Workspace } from './contract.ts'
import type { WorkspaceRow } from './store.ts'

/** The value of a JSON column if it is an object, else null. */
const toRecord = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null ? { ...value } : null

/** A workspace for its members and for operators. */
export const toWorkspaceView = (words: Words, row: WorkspaceRow, locale: Locale): z.input<typeof Workspace> => ({
  bizId: row.id,
  institutionBizId: row.institutionId,
  entityBizId: row.entityId,
  workspaceName: row.name,
  workspaceTimezone: row.timezone,
  workspaceStatus: words.coded(workspaceStatus, row.status, locale),
  workspaceKind: words.coded(workspaceKind, row.kind, locale),
  extraData: toRecord(row.extraData),
  createdAt: toIso(row.createdAt),
  updatedAt: toIso(row.updatedAt),
})
