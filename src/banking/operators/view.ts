import { toPortalView } from '../../contract/shared-schemas.ts'
import { auditOutcome, formatMoney, type Locale, type OrderId, toIso, type Words } from '../../kernel/index.ts'
import type { Posting } from '../../ledger/index.ts'
import type { AuditVerifier } from '../../platform/audit/index.ts'
import type { LedgerReport } from './ledger-check.ts'
import type { AuditRow } from './store.ts'

export function toAuditView(words: Words, row: AuditRow, locale: Locale) {
  return {
    bizId: row.id,
    sequence: row.sequence,
    at: toIso(row.at),
    portal: toPortalView(words, row.portal, locale),
    actorBizId: row.actorId,
    workspaceBizId: row.workspaceId,
    action: row.action,
    targetBizId: row.targetId,
    outcome: words.coded(auditOutcome, row.outcome, locale),
    requestId: row.requestId,
    clientIp: row.clientIp,
    detail: toRecord(row.detail),
    previousHash: toHex(row.previousHash),
    hash: toHex(row.hash),
  }
}

export function toVerificationView(
  { entriesChecked, firstSequence, broken, head, checkedAt }: Awaited<ReturnType<AuditVerifier['verify']>>,
  expectedHead: Awaited<ReturnType<AuditVerifier['verifyHead']>>['place'],
) {
  return {
    intact: broken === null && (expectedHead ?? 'FOUND') === 'FOUND',
    entriesChecked,
    firstSequence,
    firstBrokenSequence: broken?.sequence ?? null,
    head,
    expectedHead,
    checkedAt: toIso(checkedAt),
  }
}

export function toInvariantsView({ checkedAt, checks }: LedgerReport) {
  return {
    holds: checks.every(({ violations }) => violations === 0),
    checkedAt: toIso(checkedAt),
    checks: checks.map(({ name, violations }) => ({ name, holds: violations === 0, violations })),
  }
}

export function toPostingView(posting: Posting, orderBizId: OrderId, orderType: string) {
  return {
    bizId: posting.bizId,
    orderType,
    orderBizId,
    ledgerAccount: accountName(posting),
    walletBizId: posting.kind === 'WALLET' ? posting.account : null,
    amount: formatMoney(posting.amount),
    currency: posting.amount.currency,
    createdAt: toIso(posting.createdAt),
  }
}

function toRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function toHex(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('hex')
}

/** A sandbox has one account per currency instead of the house accounts. */
function accountName({ kind, workspace, amount }: Posting): string {
  if (kind === 'WALLET') return kind
  return `${workspace === null ? kind : 'SANDBOX'}:${amount.currency}`
}
