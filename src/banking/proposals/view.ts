import { type Instant, type Locale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import { proposalKind, proposalStatus } from './contract.ts'
import { PermissionChange, statusAt } from './rules.ts'
import type { ProposalRow } from './store.ts'

/** Returns a proposal. The status EXPIRED depends on `at`. */
export function toProposalView(words: Words, row: ProposalRow, at: Instant, locale: Locale) {
  return {
    bizId: row.id,
    proposalKind: words.coded(proposalKind, row.kind, locale),
    proposalStatus: words.coded(proposalStatus, statusAt(row, at), locale),
    subjectBizId: row.subjectId,
    subjectEmail: row.subjectEmail,
    workspaceBizId: row.workspaceId,
    permissionCodes: row.payload === null ? null : PermissionChange.parse(row.payload).to,
    reason: row.reason,
    proposedBy: row.proposedBy,
    decidedBy: row.decidedBy,
    expiresAt: toIso(row.expiresAt),
    executesAt: toIsoOrNull(row.executesAt),
    createdAt: toIso(row.createdAt),
    updatedAt: toIso(row.updatedAt),
  }
}
