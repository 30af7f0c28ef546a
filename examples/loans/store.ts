/* The table of loans, its migration and its statements. Every statement of a member names the workspace. */
import { type AccountId, type Database, type Instant, sql, type Tx, type WorkspaceId } from 'portico'

/** A loan as it is stored. Amounts are in minor units. */
export interface LoanRow {
  workspaceBizId: WorkspaceId
  bizId: string
  amount: bigint
  repaid: bigint
  currency: string
  status: 'REQUESTED' | 'PAID_OUT' | 'REPAID' | 'EXPIRED'
  createdBy: AccountId
  createdAt: Instant
}

export const migrations = [
  {
    name: '001-loans',
    up: async (tx: Tx): Promise<void> => {
      await sql`CREATE TABLE loans (
        workspace_biz_id uuid NOT NULL REFERENCES workspaces,
        biz_id uuid NOT NULL,
        amount numeric NOT NULL CHECK (amount > 0),
        repaid numeric NOT NULL DEFAULT 0 CHECK (repaid BETWEEN 0 AND amount),
        currency text NOT NULL,
        status text NOT NULL,
        created_by uuid NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (workspace_biz_id, biz_id)
      )`.execute(tx)
      await sql`CREATE INDEX loans_biz_id ON loans (biz_id)`.execute(tx)
      await sql`CREATE INDEX loans_list ON loans (workspace_biz_id, created_at)`.execute(tx)
    },
  },
]

export async function insertLoan(tx: Tx, loan: Omit<LoanRow, 'status' | 'repaid'>): Promise<LoanRow> {
  const { workspaceBizId, bizId, amount, currency, createdBy, createdAt } = loan
  await sql`
    INSERT INTO loans (workspace_biz_id, biz_id, amount, currency, status, created_by, created_at)
    VALUES (${workspaceBizId}, ${bizId}, ${String(amount)}, ${currency}, 'REQUESTED', ${createdBy}, ${new Date(createdAt)})`.execute(
    tx,
  )
  return { ...loan, status: 'REQUESTED', repaid: 0n }
}

export async function listLoans(database: Database, workspace: WorkspaceId): Promise<LoanRow[]> {
  const { rows } = await sql<LoanRow>`
    SELECT * FROM loans WHERE workspace_biz_id = ${workspace} ORDER BY created_at DESC LIMIT 100`.execute(database)
  return rows
}

/** Returns a loan and locks its row. Without a workspace, for an operator, returns a loan of any workspace. */
export async function lockLoan(tx: Tx, id: string, workspace: WorkspaceId | null): Promise<LoanRow | undefined> {
  const { rows } = await sql<LoanRow>`
    SELECT * FROM loans
    WHERE biz_id = ${id} AND (${workspace}::uuid IS NULL OR workspace_biz_id = ${workspace}) FOR UPDATE`.execute(tx)
  return rows[0]
}

/** Stores the status and the repaid amount of a locked loan. */
export async function updateLoan(tx: Tx, { workspaceBizId, bizId, status, repaid }: LoanRow): Promise<void> {
  await sql`
    UPDATE loans SET status = ${status}, repaid = ${String(repaid)}
    WHERE workspace_biz_id = ${workspaceBizId} AND biz_id = ${bizId}`.execute(tx)
}

/** Expires the loans that were requested before an instant. */
export async function expireLoans(database: Database, before: Instant): Promise<void> {
  await sql`
    UPDATE loans SET status = 'EXPIRED'
    WHERE status = 'REQUESTED' AND created_at < ${new Date(before)}`.execute(database)
}

export async function deleteLoans(tx: Tx, workspace: WorkspaceId): Promise<void> {
  await sql`DELETE FROM loans WHERE workspace_biz_id = ${workspace}`.execute(tx)
}
