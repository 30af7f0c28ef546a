/* The table of invoices and its statements. Every statement of a member names the workspace. */
import {
  type AccountId,
  type Database,
  type Downloadable,
  type Instant,
  inWorkspace,
  readPage,
  sqlMigration,
  type Timestamp,
  type Tx,
  timestamptz,
  type WorkspaceId,
} from 'portico'
import { z } from 'portico/contract'

export interface Invoice {
  workspaceBizId: WorkspaceId
  bizId: string
  amount: string
  currency: string
  dueOn: string
  status: 'OPEN' | 'PAID' | 'OVERDUE'
  /** See `scanOf`. */
  scan: string | null
  createdBy: AccountId
  createdAt: Instant
}

declare global {
  interface PorticoTables {
    invoices: Omit<Invoice, 'createdAt'> & { createdAt: Timestamp }
  }
}
export const migrations = [
  sqlMigration('001-invoices', [
    `CREATE TABLE invoices (
    workspace_biz_id uuid NOT NULL REFERENCES workspaces, biz_id uuid NOT NULL, amount text NOT NULL, currency text NOT NULL,
    due_on text NOT NULL, status text NOT NULL, scan text, created_by uuid NOT NULL, created_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_biz_id, biz_id))`,
    'CREATE INDEX invoices_list ON invoices (workspace_biz_id, created_at, biz_id)',
  ]),
]

export function findInvoice(store: Database, workspace: WorkspaceId, id: string) {
  return store.selectFrom('invoices').where(inWorkspace(workspace)).where('bizId', '=', id).selectAll()
}

interface Query {
  status?: Invoice['status'] | undefined
  from?: Instant | undefined
  to?: Instant | undefined
  sortBy: 'createdAt' | 'dueOn'
  sortOrder: 'asc' | 'desc'
  currentPage: number
  pageSize: number
}
export function listInvoices(database: Database, workspace: WorkspaceId, query: Query) {
  let found = database.selectFrom('invoices').where(inWorkspace(workspace))
  if (query.status) found = found.where('status', '=', query.status)
  if (query.from !== undefined) found = found.where('createdAt', '>=', timestamptz(query.from))
  if (query.to !== undefined) found = found.where('createdAt', '<=', timestamptz(query.to))
  const column = query.sortBy === 'dueOn' ? 'dueOn' : 'createdAt'
  return readPage(found, found.selectAll().orderBy(column, query.sortOrder).orderBy('bizId', query.sortOrder), query)
}
/** The database compares dates in ISO form as texts. */
export function markOverdue(database: Database, today: string) {
  return database
    .updateTable('invoices')
    .set({ status: 'OVERDUE' })
    .where('status', '=', 'OPEN')
    .where('dueOn', '<', today)
    .execute()
}

export function markPaid(tx: Tx, workspace: WorkspaceId, id: string) {
  return updateInvoice(tx, workspace, id).set({ status: 'PAID' }).execute()
}
export function setScan(tx: Tx, workspace: WorkspaceId, id: string, scan: Downloadable) {
  return updateInvoice(tx, workspace, id)
    .set({ scan: JSON.stringify(scan) })
    .execute()
}
/** Returns the deleted rows. */
export function deleteInvoices(tx: Tx, workspace: WorkspaceId) {
  return tx.deleteFrom('invoices').where(inWorkspace(workspace)).returning('scan').execute()
}
const Scan = z.object({
  key: z.string(),
  fileName: z.string(),
  contentType: z.string(),
  sizeBytes: z.int(),
  sha256: z.string(),
})
export function scanOf(invoice: Pick<Invoice, 'scan'> | undefined): Downloadable | undefined {
  return invoice?.scan ? Scan.parse(JSON.parse(invoice.scan)) : undefined
}
export function scanKeys(invoices: readonly (Pick<Invoice, 'scan'> | undefined)[]): string[] {
  return invoices.flatMap((invoice) => scanOf(invoice)?.key ?? [])
}

function updateInvoice(tx: Tx, workspace: WorkspaceId, id: string) {
  return tx.updateTable('invoices').where(inWorkspace(workspace)).where('bizId', '=', id)
}
