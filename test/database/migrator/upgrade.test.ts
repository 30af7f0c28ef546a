import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { sql } from 'kysely'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OpenDatabase, openDatabase, type SchemaOwner } from '../../../src/database/index.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'

const server = await emptyPostgres()
afterAll(() => server?.stop())

/** The schema of version 0.1.0. */
const firstVersion: SchemaOwner[] = schemaOwners.map((owner) => ({
  ...owner,
  migrations: owner.migrations.slice(0, 1),
}))

const guide = readFileSync(new URL('../../../docs/guides/upgrade.md', import.meta.url), 'utf8')
const documented = [...guide.matchAll(/```sql\n([\s\S]*?)```/g)]
  .flatMap(([, block = '']) => block.split(';'))
  .map((statement) => statement.trim())
  .filter(Boolean)

describe('an upgrade from the first version', needsPostgres(server), () => {
  const stores: OpenDatabase[] = []
  afterAll(() => Promise.all(stores.map((store) => store.close())))

  const execute = async (name: string, ...statements: string[]): Promise<void> => {
    const url = new URL(server?.url ?? '')
    url.pathname = `/${name}`
    const client = new Client({ connectionString: url.href })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
  }
  const open = async (name: string): Promise<OpenDatabase> => {
    await execute('postgres', `CREATE DATABASE ${name}`)
    const url = new URL(server?.url ?? '')
    url.pathname = `/${name}`
    const store = await openDatabase(postgresTarget(url.href))
    stores.push(store)
    return store
  }
  const indexesOf = async ({ database }: OpenDatabase): Promise<string[]> => {
    const all = sql<{ definition: string }>`
      SELECT indexdef AS definition FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname`
    return (await all.execute(database)).rows.map(({ definition }) => definition)
  }
  const insertOrder = async ({ database }: OpenDatabase, kind: 'LIVE' | 'SANDBOX'): Promise<void> => {
    const id = randomUUID()
    await sql`
      INSERT INTO workspaces (biz_id, institution_biz_id, workspace_name, workspace_timezone, workspace_status,
        workspace_kind, created_at, updated_at)
      VALUES (${id}, gen_random_uuid(), ${kind}, 'UTC', 'ACTIVE', ${kind}, now(), now())`.execute(database)
    await sql`
      INSERT INTO orders (workspace_biz_id, biz_id, order_type, order_no, status, data, history, created_at, updated_at)
      VALUES (${id}, gen_random_uuid(), 'RECHARGE', 'R', 'COMPLETED', '{}', '[{"status": "COMPLETED"}]', now(), now())`.execute(
      database,
    )
  }
  const kindsOf = async ({ database }: OpenDatabase): Promise<[kind: string, copy: string][]> => {
    const rows = await database
      .selectFrom('orders as o')
      .innerJoin('workspaces as w', 'w.bizId', 'o.workspaceBizId')
      .select(['w.workspaceKind as kind', 'o.workspaceKind as copy'])
      .orderBy('w.workspaceKind')
      .execute()
    return rows.map(({ kind, copy }) => [kind, copy])
  }

  let old: OpenDatabase
  beforeAll(async () => {
    old = await open('old')
    await old.migrate(firstVersion)
    await insertOrder(old, 'LIVE')
    await insertOrder(old, 'SANDBOX')
    await execute('old', ...documented)
    await old.migrate(schemaOwners)
  })

  test('orders get the kind of their workspace, new ones by the trigger', async () => {
    expect(await kindsOf(old)).toEqual([
      ['LIVE', 'LIVE'],
      ['SANDBOX', 'SANDBOX'],
    ])
    await insertOrder(old, 'SANDBOX')
    expect(await kindsOf(old)).toEqual([
      ['LIVE', 'LIVE'],
      ['SANDBOX', 'SANDBOX'],
      ['SANDBOX', 'SANDBOX'],
    ])
    const change = sql`UPDATE orders SET version = version + 2`.execute(old.database)
    await expect(change).rejects.toThrow('its version grows by one')
  })

  test('the documented indexes are those of the migration', async () => {
    const fresh = await open('fresh')
    await fresh.migrate(schemaOwners)
    expect(documented.length).toBeGreaterThan(5)
    expect(await indexesOf(old)).toEqual(await indexesOf(fresh))
  })
})
