/* The table of card orders. Every statement names the workspace. */
import { inWorkspace, sqlMigration } from 'portico'

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
export const insertCardOrder = (tx, workspace, row) =>
  tx
    .insertInto('card_orders')
    .values({ ...row, workspaceBizId: workspace })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst()

export const findCardOrder = (database, workspace, id) =>
  database
    .selectFrom('card_orders')
    .selectAll()
    .where(inWorkspace(workspace))
    .where('bizId', '=', id)
    .executeTakeFirst()

export const selectCardOrders = (database, workspace) =>
  database
    .selectFrom('card_orders')
    .selectAll()
    .where(inWorkspace(workspace))
    .orderBy('createdAt', 'desc')
    .limit(100)
    .execute()

export const deleteCardOrders = async (tx, workspace) => {
  await tx.deleteFrom('card_orders').where(inWorkspace(workspace)).execute()
}
