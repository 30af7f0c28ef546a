import { sql } from 'kysely'
import { type Database, sqlState, type Tx } from '../../database/index.ts'
import type { Instant, OrderId, WorkspaceId } from '../../kernel/index.ts'

/** Whether another recharge of the workspace uses the same bytes. */
export function isProofInUse(error: unknown): boolean {
  return sqlState(error) === 'PR001'
}

/** Whether another recharge of the channel has the reference. */
export function isReferenceUsed(error: unknown): boolean {
  return sqlState(error) === 'PR002'
}

export interface ProofUse {
  order: OrderId
  workspace: WorkspaceId
  /** When the proof was submitted. */
  at: Instant
}

const maxUses = 20

/** Covers all workspaces, newest first. A recharge without a proof is missing. */
export async function listProofUses(
  database: Database,
  orders: readonly { bizId: OrderId; workspaceBizId: WorkspaceId }[],
): Promise<ReadonlyMap<OrderId, ProofUse[]>> {
  const uses = new Map<OrderId, ProofUse[]>()
  if (orders.length === 0) return uses
  const { rows } = await sql<{ of: OrderId; order: OrderId | null; workspace: WorkspaceId; at: Instant }>`
    SELECT own.order_biz_id AS "of", other.order_biz_id AS "order", other.workspace_biz_id AS workspace,
           other.created_at AS at
      FROM recharge_proofs own
      LEFT JOIN LATERAL (
        SELECT order_biz_id, workspace_biz_id, created_at FROM recharge_proofs
         WHERE sha256 = own.sha256 AND order_biz_id <> own.order_biz_id
         ORDER BY created_at DESC, order_biz_id DESC LIMIT ${maxUses}) other ON true
     WHERE (own.workspace_biz_id, own.order_biz_id) IN (
       SELECT * FROM unnest(${orders.map((order) => order.workspaceBizId)}::uuid[],
                            ${orders.map((order) => order.bizId)}::uuid[]))
     ORDER BY other.created_at DESC, other.order_biz_id DESC`.execute(database)
  for (const { of, order, ...use } of rows) {
    const found = uses.get(of) ?? []
    if (order !== null) found.push({ ...use, order })
    uses.set(of, found)
  }
  return uses
}

/** The next recharges of the sandbox can use them again. */
export async function deleteProofsAndReferences(tx: Tx, workspace: WorkspaceId): Promise<void> {
  await tx.deleteFrom('recharge_proofs').where('workspaceBizId', '=', workspace).execute()
  await tx.deleteFrom('recharge_references').where('workspaceBizId', '=', workspace).execute()
}
