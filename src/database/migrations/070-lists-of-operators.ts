import { type Kysely, sql } from 'kysely'

/**
 * What operators look for over all workspaces: who did something to one thing, or did one kind of thing; and the orders
 * that they decide on. Transfers are not listed over all workspaces once they have ended, and do without. On a large store
 * the indexes may be there already, made without holding up anybody (docs/production.md).
 */
const statements = [
  `CREATE INDEX IF NOT EXISTS audit_log_target ON audit_log (target_biz_id, at) WHERE target_biz_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS audit_log_action ON audit_log (action, at)`,
  `CREATE INDEX IF NOT EXISTS orders_of_all ON orders (order_type, created_at, biz_id) WHERE order_type IN ('RECHARGE', 'WITHDRAWAL')`,
]

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(database)
}
