import { sql } from 'kysely'
import type { Database } from '../../../src/database/index.ts'

/** Each has the same number of entries in each month. */
export const accounts = {
  count: 100_000,
  /** `number` is SQL text. */
  id: (number: string) => `('018f0000-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`,
}

function startOf(month: number): string {
  return `'${new Date(Date.UTC(2015, month, 1)).toISOString()}'`
}

/** The triggers would be slow. */
export function createAccounts(database: Database, workspace: string): Promise<void> {
  return database.transaction().execute(async (tx) => {
    await sql`SET LOCAL session_replication_role = replica`.execute(tx)
    await sql
      .raw(
        `INSERT INTO ledger_accounts (biz_id, workspace_biz_id, kind, currency, created_at, updated_at)
        SELECT ${accounts.id('n')}, '${workspace}', 'WALLET', 'USD', now(), now() FROM generate_series(0, ${accounts.count - 1}) AS n`,
      )
      .execute(tx)
  })
}

/**
 * A table like a partition, with the indexes of one. Each account gets one unit per entry. The triggers would be slow, and
 * the indexes are faster at the end.
 */
export async function createMonth(database: Database, month: number, entries: number): Promise<void> {
  const table = `ledger_entries_month_${month}`
  const each = Math.max(1, Math.floor(entries / accounts.count))
  const step = (28 * 86_400) / entries
  const run = (text: string) => sql.raw(text).execute(database)
  await database.transaction().execute(async (tx) => {
    await sql
      .raw(`CREATE TABLE ${table} (LIKE ledger_entries_first INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`)
      .execute(tx)
    await sql
      .raw(
        `INSERT INTO ${table} (account_biz_id, sequence, biz_id, workspace_biz_id, transaction_biz_id, order_biz_id, currency,
          amount, balance_after, flow_type, created_at)
        SELECT ${accounts.id(`n % ${accounts.count}`)}, s, id, id, id, id, 'USD', (1 - n % 2 * 2) * (s % 2 * 2 - 1), (1 - n % 2 * 2) * (s % 2),
          'TRANSFER', ${startOf(month)}::timestamptz + n * ${step} * interval '1 second'
          FROM generate_series(0, ${entries - 1}) AS n
         CROSS JOIN LATERAL (SELECT ${month} * ${each} + n / ${accounts.count} + 1 AS s,
           (lpad(to_hex(${month}), 8, '0') || '-0000-7000-8000-' || lpad(to_hex(n / 2), 12, '0'))::uuid AS id) AS row`,
      )
      .execute(tx)
  })
  await run(`ALTER TABLE ${table} ADD PRIMARY KEY (account_biz_id, sequence)`)
  await run(`CREATE INDEX ON ${table} (account_biz_id, created_at)`)
  await run(`CREATE INDEX ON ${table} (order_biz_id) WHERE order_biz_id IS NOT NULL`)
  await run(`CREATE INDEX ON ${table} (account_biz_id) WHERE flow_type = 'OPENING'`)
  await run(`CREATE INDEX ON ${table} USING brin (created_at) WITH (pages_per_range = 32)`)
  await run(`CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ${table}
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_reject()`)
  const [from, to] = [startOf(month), startOf(month + 1)]
  await run(`ALTER TABLE ${table} ADD CONSTRAINT bound CHECK (created_at >= ${from} AND created_at < ${to})`)
  await run(`VACUUM (ANALYZE) ${table}`)
}

/** The first partition of the new store must begin behind them. */
export async function attach(database: Database, months: number): Promise<void> {
  const { rows } = await sql<{ upper: string }>`
    SELECT upper FROM partition_list('ledger_entries'::regclass) WHERE lower IS NULL`.execute(database)
  await database.transaction().execute(async (tx) => {
    await sql.raw('ALTER TABLE ledger_entries DETACH PARTITION ledger_entries_first').execute(tx)
    await sql
      .raw(
        `ALTER TABLE ledger_entries ATTACH PARTITION ledger_entries_first FOR VALUES FROM (${startOf(months)}) TO ('${rows[0]?.upper}')`,
      )
      .execute(tx)
  })
  for (let month = 0; month < months; month++) {
    const from = month === 0 ? 'MINVALUE' : startOf(month)
    await sql
      .raw(
        `ALTER TABLE ledger_entries ATTACH PARTITION ledger_entries_month_${month} FOR VALUES FROM (${from}) TO (${startOf(month + 1)})`,
      )
      .execute(database)
  }
}
