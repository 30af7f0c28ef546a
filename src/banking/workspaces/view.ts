import type { z } from 'zod'
import { type Locale, toIso, type Words, workspaceKind, workspaceStatus } from '../../kernel/index.ts'
import type { Workspace } from './contract.ts'
import type { WorkspaceRow } from './store.ts'

export function toWorkspaceView(words: Words, row: WorkspaceRow, locale: Locale): z.input<typeof Workspace> {
  return {
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
  }
}

function toRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? { ...value } : null
}
