import { sql } from 'kysely'
import { type Database, sqlState, type Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type OrderId, toDate, type WorkspaceId } from '../../kernel/index.ts'

/** Whether another recharge of the workspace uses the same bytes. */
export function isProofInUse(error: unknown): boolean {
  return sqlState(error) === 'PR001'
}

/** Whether another recharge of the channel has the reference. */
export function isReferenceUsed(error: unknown): boolean {
  return sqlState(error) === 'PR002'
}

/** Whether the person who allowed the reference confirms with it. */
export function isAllowedByActor(error: unknown): boolean {
  return sqlState(error) === 'PR003'
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
  orders: readonly OrderKey[],
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

type OrderKey = { bizId: OrderId; workspaceBizId: WorkspaceId }

export interface ReferenceUse {
  isUsed: boolean
  /** Whether a recharge of the same workspace, day and amount has used it. */
  isPaid: boolean
}

export async function readReferenceUse(tx: Tx, order: OrderKey, reference: string): Promise<ReferenceUse | undefined> {
  const { rows } = await sql<ReferenceUse>`
    SELECT is_recharge_paid(orders, ${reference}) AS "isPaid", EXISTS (
             SELECT FROM recharge_references r
              WHERE r.scope = recharge_references_scope(orders.workspace_biz_id)
                AND r.channel_code = orders.data->>'channelCode' AND r.reference = ${reference}) AS "isUsed"
      FROM orders WHERE workspace_biz_id = ${order.workspaceBizId} AND biz_id = ${order.bizId}`.execute(tx)
  return rows[0]
}

export interface ReferenceAllowance {
  workspaceBizId: WorkspaceId
  orderBizId: OrderId
  reference: string
  externalReference: string
  reason: string
  allowedBy: AccountId
}

/** Returns false if the recharge has an allowance for the reference, also if it is spent. */
export async function insertAllowance(tx: Tx, allowance: ReferenceAllowance, at: Instant): Promise<boolean> {
  const inserted = await tx
    .insertInto('recharge_reference_allowances')
    .values({ ...allowance, createdAt: toDate(at), usedAt: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning('orderBizId')
    .executeTakeFirst()
  return inserted !== undefined
}

export type ListedAllowance = ReferenceAllowance & { createdAt: Instant; usedAt: Instant | null }

/** Oldest first. */
export async function listAllowances(
  database: Database,
  orders: readonly OrderKey[],
): Promise<ReadonlyMap<OrderId, ListedAllowance[]>> {
  if (orders.length === 0) return new Map()
  const rows = await database
    .selectFrom('recharge_reference_allowances')
    .where((eb) =>
      eb.or(
        orders.map(({ workspaceBizId, bizId }) =>
          eb.and([eb('workspaceBizId', '=', workspaceBizId), eb('orderBizId', '=', bizId)]),
        ),
      ),
    )
    .selectAll()
    .orderBy('createdAt')
    .execute()
  return Map.groupBy(rows, ({ orderBizId }) => orderBizId)
}

/** The next recharges of the sandbox can use them again. */
export async function deleteProofsAndReferences(tx: Tx, workspace: WorkspaceId): Promise<void> {
  await tx.deleteFrom('recharge_proofs').where('workspaceBizId', '=', workspace).execute()
  await tx.deleteFrom('recharge_references').where('workspaceBizId', '=', workspace).execute()
  await tx.deleteFrom('recharge_reference_allowances').where('workspaceBizId', '=', workspace).execute()
}
