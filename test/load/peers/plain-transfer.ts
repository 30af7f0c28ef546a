import { type RawBuilder, sql } from 'kysely'
import { people } from '../store/accounts.ts'

/* In pgbench syntax, for PostgreSQL and for Kysely on PGlite. */
export const accounts = people

export const schema = [
  'CREATE TABLE plain_accounts (id bigint PRIMARY KEY, balance numeric NOT NULL, updated_at timestamptz) WITH (fillfactor = 50)',
  `CREATE TABLE plain_entries (account bigint NOT NULL REFERENCES plain_accounts, transfer uuid NOT NULL, amount numeric NOT NULL,
    created_at timestamptz NOT NULL, PRIMARY KEY (account, transfer))`,
  `CREATE TABLE plain_transfers (id uuid PRIMARY KEY, source bigint NOT NULL, target bigint NOT NULL, amount numeric NOT NULL,
    status text NOT NULL, created_at timestamptz NOT NULL)`,
  'CREATE TABLE plain_requests (id uuid PRIMARY KEY, answer jsonb, created_at timestamptz NOT NULL)',
  `CREATE TABLE plain_audit (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, action text NOT NULL, transfer uuid NOT NULL,
    created_at timestamptz NOT NULL)`,
  `INSERT INTO plain_accounts SELECT n, 1000000000, now() FROM generate_series(1, ${accounts}) AS n`,
]

/** Run between BEGIN and COMMIT. */
export const statements = [
  `INSERT INTO plain_requests VALUES (:id::uuid, '{"status": "COMPLETED"}', now())`,
  'SELECT id, balance FROM plain_accounts WHERE id IN (:source, :target) ORDER BY id FOR UPDATE',
  'UPDATE plain_accounts SET balance = balance - :amount, updated_at = now() WHERE id = :source AND balance >= :amount',
  'UPDATE plain_accounts SET balance = balance + :amount, updated_at = now() WHERE id = :target',
  `INSERT INTO plain_transfers VALUES (:id::uuid, :source, :target, :amount, 'COMPLETED', now())`,
  'INSERT INTO plain_entries VALUES (:source, :id::uuid, -:amount::numeric, now()), (:target, :id::uuid, :amount, now())',
  `INSERT INTO plain_audit (action, transfer, created_at) VALUES ('transfers.create', :id::uuid, now())`,
]

/** Generates ids from 60 random bits, which saves a round trip. */
export const pgbenchScript = [
  `\\set source random(1, ${accounts})`,
  `\\set target 1 + (:source + random(0, ${accounts - 2})) % ${accounts}`,
  '\\set amount random(1, 100)',
  '\\set high random(100000000000, 999999999999)',
  '\\set low random(100000000000, 999999999999)',
  'BEGIN;',
  ...statements.map(
    (each) =>
      `${each.replaceAll(':id', "('00000000-' || substr(:high::text, 1, 4) || '-' || substr(:high::text, 5, 4) || '-' || substr(:high::text, 9, 4) || '-' || :low::text)")};`,
  ),
  'COMMIT;',
].join('\n')

/** Replaces variables by parameters. */
export function parametrised(statement: string, values: Record<string, string | number>): RawBuilder<unknown> {
  const parts = statement.split(/(?<!:):(\w+)/)
  return sql.join(
    parts.map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql`${values[part]}`)),
    sql.raw(''),
  )
}
