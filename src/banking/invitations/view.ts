import { type Locale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { invitationStatus } from './contract.ts'
import type { InvitationRow } from './store.ts'

export function toInvitationView(words: Words, row: Omit<InvitationRow, 'enabledBy'>, locale: Locale) {
  return {
    bizId: row.bizId,
    workspaceBizId: row.workspaceBizId,
    workspaceName: row.workspaceName,
    inviteeEmail: row.inviteeEmail,
    roleBizId: row.roleBizId,
    roleName: row.roleName,
    inviterBizId: row.inviterBizId,
    invitationStatus: words.coded(invitationStatus, row.invitationStatus, locale),
    declineReason: row.declineReason,
    message: row.message,
    expiresAt: toIso(row.expiresAt),
    respondedAt: toIsoOrNull(row.respondedAt),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}
