import type { Kysely, Transaction } from 'kysely'
import type { AccessTables } from './access.ts'
import type { ApiKeyTables } from './api-keys.ts'
import type { AuditTables } from './audit.ts'
import type { FileTables } from './files.ts'
import type { IdentityTables } from './identity.ts'
import type { InvitationTables } from './invitations.ts'
import type { LedgerTables } from './ledger.ts'
import type { MoneyTables } from './money.ts'
import type { OutboxTables } from './outbox.ts'

/** Every table, by the part of the house that owns it. */
export type Tables = AccessTables &
  AuditTables &
  FileTables &
  IdentityTables &
  LedgerTables &
  MoneyTables &
  ApiKeyTables &
  InvitationTables &
  OutboxTables
export type Database = Kysely<Tables>
/** A transaction under way, as services hand it from store to store. */
export type Tx = Transaction<Tables>
