/* The table of card orders. Every statement names the workspace. */
import { type Database, inWorkspace, sqlMigration, type Timestamp, type Tx, type WorkspaceId } from 'portico'

declare global {
  interface PorticoTables {
    card_orders: { workspace_biz_id: WorkspaceId; biz_id: string; name: string; created_at: Timestamp }
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
export const insertCardOrder = (tx: Tx, workspace: WorkspaceId, row: { biz_id: string; name: string; created_at: Date }) =>
  tx
    .insertInto('card_orders')
    .values({ ...row, workspace_biz_id: workspace })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()

export const findCardOrder = (database: Database, workspace: WorkspaceId, id: string) =>
  database
    .selectFrom('card_orders')
    .selectAll()
    .where(inWorkspace(workspace))
    .where('biz_id', '=', id)
    .executeTakeFirst()

export const selectCardOrders = (database: Database, workspace: WorkspaceId) =>
  database
    .selectFrom('card_orders')
    .selectAll()
    .where(inWorkspace(workspace))
    .orderBy('created_at', 'desc')
    .limit(100)
    .execute()

export const deleteCardOrders = async (tx: Tx, workspace: WorkspaceId): Promise<void> => {
  await tx.deleteFrom('card_orders').where(inWorkspace(workspace)).execute()
}
