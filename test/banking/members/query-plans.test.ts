import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeMembership, setRole } from '../../../src/banking/members/membership-store.ts'
import { membershipIn } from '../../../src/banking/members/store.ts'
import { deleteRole, isInUse } from '../../../src/banking/roles/store.ts'
import { openDatabase } from '../../../src/database/open-database.ts'
import type { OpenDatabase } from '../../../src/database/port.ts'
import type { Database, Tx } from '../../../src/database/tables.ts'
import { type AccountId, bizId, type RoleId, toInstant, type WorkspaceId } from '../../../src/kernel/index.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { postgresTarget } from '../../harness/postgres-target.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'

// Autovacuum would refresh the statistics at a random time.
const server = await emptyPostgres({ plan_cache_mode: 'force_generic_plan', autovacuum: 'off' })
afterAll(() => server?.stop())

const now = toInstant(Date.UTC(2026, 10, 23))
const small = { number: 1, members: 100 }
const large = { number: 2, members: 10_000 }

/** Another index depth or heap page costs a few blocks. A scan costs more than a hundred. */
const slack = 8

const prefixes = { workspace: '01990001', account: '01990002', role: '01990003' }
function idOf(kind: keyof typeof prefixes, number: number): string {
  return `${prefixes[kind]}-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}
function idIn(kind: keyof typeof prefixes, number: RawBuilder<unknown>) {
  return sql`(${`${prefixes[kind]}-0000-7000-8000-`}::text || lpad(to_hex(${number}), 12, '0'))::uuid`
}

function idsOf({ number }: typeof small) {
  return {
    workspaceId: bizId<'workspace'>(idOf('workspace', number)),
    // Account 0 is the owner; other members have the second role.
    accountId: bizId<'account'>(idOf('account', number * 100_000 + 50)),
    heldRoleId: bizId<'role'>(idOf('role', number * 10 + 1)),
    unusedRoleId: bizId<'role'>(idOf('role', number * 10 + 2)),
  }
}
type Ids = ReturnType<typeof idsOf>

/** Skips foreign keys, so only the members that are removed need accounts. */
function insertWorkspaces(database: Database, [first, last]: [number, number], members: number) {
  return database.transaction().execute(async (tx) => {
    const workspaces = sql`generate_series(${first}::int, ${last}::int) AS w`
    const workspace = idIn('workspace', sql`w`)
    await sql`SET LOCAL session_replication_role = replica`.execute(tx)
    await sql`
      INSERT INTO workspaces (biz_id, institution_biz_id, workspace_name, workspace_timezone, workspace_status,
        workspace_kind, created_at, updated_at)
      SELECT ${workspace}, ${workspace}, 'w', 'UTC', 'ACTIVE', 'LIVE', now(), now() FROM ${workspaces}`.execute(tx)
    await sql`
      INSERT INTO roles (biz_id, workspace_biz_id, role_name, description, role_type, permission_codes, created_at,
        updated_at)
      SELECT ${idIn('role', sql`w * 10 + n`)}, ${workspace}, n, '', CASE n WHEN 0 THEN 'OWNER' ELSE 'CUSTOM' END, '{}',
        now(), now()
        FROM ${workspaces}, generate_series(0, 2) AS n`.execute(tx)
    await sql`
      INSERT INTO memberships (workspace_biz_id, account_biz_id, role_biz_id, join_source, created_at, updated_at)
      SELECT ${workspace}, ${idIn('account', sql`w * 100000 + n`)}, ${idIn('role', sql`w * 10 + least(n, 1)`)}, 'INVITATION',
        now(), now()
        FROM ${workspaces}, generate_series(0, ${members - 1}::int) AS n`.execute(tx)
    await sql`
      INSERT INTO accounts (biz_id, portal, institution_biz_id, account_status, email, email_canonical, account_name,
        default_language, default_timezone, default_country, created_at, updated_at)
      SELECT ${idIn('account', sql`w * 100000 + 50`)}, 'CONSUMER', ${workspace}, 'ACTIVE', w || '@example.com',
        w || '@example.com', 'Person', 'en', 'UTC', 'DE', now(), now()
        FROM ${workspaces}`.execute(tx)
  })
}

/** Blocks of tables and indexes, cached or not. */
async function blocksSoFar(tx: Tx): Promise<number> {
  const { rows } = await sql<{ blocks: number }>`
    SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::int AS blocks
      FROM pg_class WHERE relnamespace = 'public'::regnamespace`.execute(tx)
  return rows[0]?.blocks ?? Number.NaN
}

class Rollback extends Error {}

/** An earlier execution fills the catalog caches and creates the plan. */
async function blocksOf(database: Database, work: (tx: Tx) => Promise<unknown>): Promise<number> {
  const measure = async (): Promise<number> => {
    let blocks = Number.NaN
    const measured = database.transaction().execute(async (tx) => {
      const before = await blocksSoFar(tx)
      await work(tx)
      blocks = (await blocksSoFar(tx)) - before
      throw new Rollback()
    })
    await measured.catch((error: unknown) => {
      if (!(error instanceof Rollback)) throw error
    })
    return blocks
  }
  await measure()
  return measure()
}

function roleOf(workspaceId: WorkspaceId, id: RoleId) {
  return { workspaceBizId: workspaceId, bizId: id }
}
function memberOf(workspaceId: WorkspaceId, accountId: AccountId) {
  return { workspaceId, accountId }
}

const operations: [name: string, work: (tx: Tx, ids: Ids) => Promise<unknown>, result: unknown][] = [
  ['membershipIn', async (tx, ids) => (await membershipIn(tx, ids.accountId, ids.workspaceId))?.roleType, 'CUSTOM'],
  [
    'setRole',
    (tx, ids) => setRole(tx, memberOf(ids.workspaceId, ids.accountId), { roleId: ids.unusedRoleId, gain: null }, now),
    undefined,
  ],
  ['removeMembership', (tx, ids) => removeMembership(tx, ids.accountId, ids.workspaceId), undefined],
  ['isInUse of a held role', (tx, ids) => isInUse(tx, roleOf(ids.workspaceId, ids.heldRoleId), now), true],
  ['isInUse of an unused role', (tx, ids) => isInUse(tx, roleOf(ids.workspaceId, ids.unusedRoleId), now), false],
  ['deleteRole', (tx, ids) => deleteRole(tx, roleOf(ids.workspaceId, ids.unusedRoleId)), undefined],
]

describe('statements about one member of a workspace on PostgreSQL', needsPostgres(server), () => {
  let store: OpenDatabase
  beforeAll(async () => {
    store = await openDatabase({ ...postgresTarget(server?.url ?? ''), poolSize: 1, statementTimeoutMs: 60_000 })
    await store.migrate(schemaOwners)
    await insertWorkspaces(store.database, [10, 2_000], 1)
    await sql`ANALYZE`.execute(store.database)
    for (const { number, members } of [small, large]) {
      await insertWorkspaces(store.database, [number, number], members)
    }
  })
  afterAll(() => store?.close())

  describe.each([
    ['statistics from before the workspace grew', async () => undefined],
    ['current statistics', () => sql`ANALYZE`.execute(store.database)],
  ])('with %s', (_name, prepare) => {
    beforeAll(async () => {
      await prepare()
    })

    test.each(operations)(
      '%s: blocks read do not grow with the number of members',
      async (_operation, work, result) => {
        const blocksIn = (workspace: typeof small) =>
          blocksOf(store.database, async (tx) => expect(await work(tx, idsOf(workspace))).toEqual(result))
        const few = await blocksIn(small)
        expect(few).toBeGreaterThan(0)
        const many = await blocksIn(large)
        expect(many).toBeLessThanOrEqual(few + slack)
      },
    )
  })
})
