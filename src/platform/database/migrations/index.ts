import type { Migration } from 'kysely/migration'

/**
 * In the order of their names; one that has been released is never changed. Each is loaded when it is to be run, which
 * most starts have no need of.
 */
export const migrations: Readonly<Record<string, () => Promise<Migration>>> = {
  '000-audit': () => import('./000-audit.ts'),
  '001-identity': () => import('./001-identity.ts'),
  '001-identity-keys': () => import('./001-identity-keys.ts'),
  '001-identity-logins': () => import('./001-identity-logins.ts'),
  '002-access': () => import('./002-access.ts'),
  '003-ledger': () => import('./003-ledger.ts'),
  '010-invitations': () => import('./010-invitations.ts'),
  '011-api-keys': () => import('./011-api-keys.ts'),
  '012-sandbox': () => import('./012-sandbox.ts'),
  '020-daily-usage': () => import('./020-daily-usage.ts'),
  '020-exchanges': () => import('./020-exchanges.ts'),
  '020-withdrawal-channels': () => import('./020-withdrawal-channels.ts'),
  '030-audit-chain': () => import('./030-audit-chain.ts'),
  '030-exports': () => import('./030-exports.ts'),
  '030-files': () => import('./030-files.ts'),
  '030-jobs': () => import('./030-jobs.ts'),
  '040-identity-factors': () => import('./040-identity-factors.ts'),
  '040-identity-passwords': () => import('./040-identity-passwords.ts'),
  '050-sandbox-counterparts': () => import('./050-sandbox-counterparts.ts'),
  '051-api-key-prefix': () => import('./051-api-key-prefix.ts'),
  '052-development-outbox': () => import('./052-development-outbox.ts'),
  '060-ledger-lean': () => import('./060-ledger-lean.ts'),
  '061-audit-head': () => import('./061-audit-head.ts'),
  '062-accounts-awaiting': () => import('./062-accounts-awaiting.ts'),
  '063-limits-kept': () => import('./063-limits-kept.ts'),
  '064-withdrawals-let-go': () => import('./064-withdrawals-let-go.ts'),
  '065-audit-unsealed': () => import('./065-audit-unsealed.ts'),
  '066-logins-under-way': () => import('./066-logins-under-way.ts'),
  '068-ledger-check': () => import('./068-ledger-check.ts'),
  '070-lists-of-operators': () => import('./070-lists-of-operators.ts'),
  '071-unnamed-blobs': () => import('./071-unnamed-blobs.ts'),
  '072-openings': () => import('./072-openings.ts'),
  '073-quotes-by-a-clock-ahead': () => import('./073-quotes-by-a-clock-ahead.ts'),
  '074-answers-by-two-clocks': () => import('./074-answers-by-two-clocks.ts'),
  '075-sweeps-and-failures': () => import('./075-sweeps-and-failures.ts'),
  '076-membership-roles': () => import('./076-membership-roles.ts'),
}
