import { type Locale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { invitationStatus } from './contract.ts'
import type { InvitationRow } from './store.ts'

export function toInvitationView(words: Words, row: InvitationRow, locale: Locale) {
  return {
    bizId: row.id,
    workspaceBizId: row.workspaceId,
    workspaceName: row.workspaceName,
    inviteeEmail: row.email,
    roleBizId: row.roleId,
    roleName: row.roleName,
    inviterBizId: row.inviterId,
    invitationStatus: words.coded(invitationStatus, row.status, locale),
    declineReason: row.declineReason,
    message: row.message,
    expiresAt: toIso(row.expiresAt),
    respondedAt: toIsoOrNull(row.respondedAt),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}
