/*
 * The exports of `portico` for domains, all public API. Start reading with `domain.ts`; `contract.ts` is the module
 * `portico/contract`.
 */
export { sql } from 'kysely'
export {
  type Database,
  inWorkspace,
  type Json,
  type Migration,
  type Minor,
  readPage,
  sqlMigration,
  type Timestamp,
  type Tx,
} from '../database/index.ts'
export {
  type AccountId,
  addMs,
  bizId,
  createHandlerTable,
  formatMoney,
  type Handler,
  type HandlersOf,
  type Instant,
  invalid,
  type Locale,
  notFound,
  parseMoney,
  Refusal,
  type Request,
  toIso,
  type WorkspaceId,
} from '../kernel/index.ts'
export {
  type CommandAudit,
  type CommandContext,
  type Entry,
  feeEntries,
  feeParties,
  type Hold,
  type HouseParty,
  type Ledger,
  memberContext,
  type NewOrder,
  type Order,
  type OrderCommand,
  type OrderMove,
  operatorApproval,
  operatorContext,
  operatorDecision,
  type Party,
  type WalletParty,
} from '../ledger/index.ts'
export { auditContextOf, recordSuccess } from '../platform/audit/index.ts'
export { enqueueJob, type JobFacts, type JobKind } from '../platform/jobs/index.ts'
export {
  type AccountsPort,
  type Domain,
  type DomainParts,
  type DomainPorts,
  domain,
  type HooksPort,
  type IdempotentRequest,
  type SessionsPort,
  type WorkspacesPort,
} from './domain.ts'
export type { DomainServices } from './services.ts'
