import { type Kysely, sql } from 'kysely'

/** What a membership was limited to when it ended, for the day on which its member comes back. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE membership_limits_kept (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      account_biz_id uuid NOT NULL REFERENCES accounts,
      policy_config jsonb NOT NULL,
      PRIMARY KEY (workspace_biz_id, account_biz_id)
    )`.execute(database)
}
