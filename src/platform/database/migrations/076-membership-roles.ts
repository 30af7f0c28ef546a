import { type Kysely, sql } from 'kysely'

/**
 * Lead the role index with the role. An index that leads with the workspace can cost the planner's generic plan no more than
 * the primary key; it then reads every member of the workspace to find one account.
 */
const statements = [
  // Take the strongest lock first. A transaction that has read memberships and then writes would deadlock with an upgrade.
  'LOCK TABLE memberships IN ACCESS EXCLUSIVE MODE',
  'CREATE INDEX IF NOT EXISTS memberships_role_workspace ON memberships (role_biz_id, workspace_biz_id)',
  'DROP INDEX IF EXISTS memberships_role',
]

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(database)
}
