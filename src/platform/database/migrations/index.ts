import type { Migration } from 'kysely/migration'
import * as audit from './000-audit.ts'
import * as identity from './001-identity.ts'
import * as identityKeys from './001-identity-keys.ts'
import * as identityLogins from './001-identity-logins.ts'
import * as access from './002-access.ts'
import * as ledger from './003-ledger.ts'
import * as invitations from './010-invitations.ts'
import * as apiKeys from './011-api-keys.ts'
import * as sandbox from './012-sandbox.ts'
import * as dailyUsage from './020-daily-usage.ts'
import * as exchanges from './020-exchanges.ts'
import * as withdrawalChannels from './020-withdrawal-channels.ts'
import * as auditChain from './030-audit-chain.ts'
import * as exports from './030-exports.ts'
import * as files from './030-files.ts'
import * as jobs from './030-jobs.ts'
import * as identityFactors from './040-identity-factors.ts'
import * as identityPasswords from './040-identity-passwords.ts'
import * as sandboxCounterparts from './050-sandbox-counterparts.ts'
import * as apiKeyPrefix from './051-api-key-prefix.ts'
import * as developmentOutbox from './052-development-outbox.ts'
import * as ledgerLean from './060-ledger-lean.ts'

/** In the order of their names; one that has been released is never changed. */
export const migrations: Record<string, Migration> = {
  '000-audit': audit,
  '001-identity': identity,
  '001-identity-keys': identityKeys,
  '001-identity-logins': identityLogins,
  '002-access': access,
  '003-ledger': ledger,
  '010-invitations': invitations,
  '011-api-keys': apiKeys,
  '012-sandbox': sandbox,
  '020-daily-usage': dailyUsage,
  '020-exchanges': exchanges,
  '020-withdrawal-channels': withdrawalChannels,
  '030-audit-chain': auditChain,
  '030-exports': exports,
  '030-files': files,
  '030-jobs': jobs,
  '040-identity-factors': identityFactors,
  '040-identity-passwords': identityPasswords,
  '050-sandbox-counterparts': sandboxCounterparts,
  '051-api-key-prefix': apiKeyPrefix,
  '052-development-outbox': developmentOutbox,
  '060-ledger-lean': ledgerLean,
}
