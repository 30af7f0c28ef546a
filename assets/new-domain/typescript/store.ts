/* The table of card orders. Every statement names the workspace. */
import { type Database, inWorkspace, sqlMigration, type Timestamp, type Tx, type WorkspaceId } from 'portico'

declare global {
  interface PorticoTables {
    card_orders: { workspaceBizId: WorkspaceId; bizId: string; name: string; createdAt: Timestamp }
  }
}

export const migrations = [
  sqlMigration('001-card-orders', [
    `CREATE TABLE "card_orders" (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      name text NOT NULL,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id),
      UNIQUE (workspace_biz_id, name)
    )`,
  ]),
]

/** Returns undefined if the workspace has the name already. */
export const insertCardOrder = (tx: Tx, workspace: WorkspaceId, row: { bizId: string; name: string; createdAt: Date }) =>
  tx
    .insertInto('card_orders')
    .values({ ...row, workspaceBizId: workspace })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()

export const findCardOrder = (database: Database, workspace: WorkspaceId, id: string) =>
  database
    .selectFrom('card_orders')
    .selectAll()
    .where(inWorkspace(workspace))
    .where('bizId', '=', id)
    .executeTakeFirst()

export const selectCardOrders = (database: Database, workspace: WorkspaceId) =>
  database
    .selectFrom('card_orders')
    .selectAll()
    .where(inWorkspace(workspace))
    .orderBy('createdAt', 'desc')
    .limit(100)
    .execute()

export const deleteCardOrders = async (tx: Tx, workspace: WorkspaceId): Promise<void> => {
  await tx.deleteFrom('card_orders').where(inWorkspace(workspace)).execute()
}
