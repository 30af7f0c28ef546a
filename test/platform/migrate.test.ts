import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type OpenDatabase, openDatabase } from '../../src/database/index.ts'
import { startPostgres } from '../harness/postgres.ts'
import { postgresTarget } from '../harness/postgres-target.ts'

// Who waits in a ring is found before the migration has waited for as long as it would for any lock.
const server = await startPostgres({ deadlock_timeout: '100ms' })
afterAll(() => server?.stop())

const name = '070-lists-of-operators'

describe.skipIf(!server)('a migration beside the version that runs', () => {
  let store: OpenDatabase
  const other = new Client({ connectionString: server?.url ?? '' })
  beforeAll(async () => {
    store = await openDatabase(postgresTarget(server?.url ?? ''))
    await store.migrate()
    await other.connect()
  })
  afterAll(async () => {
    await other.end()
    await store.close()
  })

  /** How many wait for that table. */
  const waiting = async (): Promise<number> => {
    const asked = "SELECT 1 FROM pg_locks WHERE relation = 'orders'::regclass AND NOT granted"
    return (await other.query(asked)).rows.length
  }

  test('is tried again where it and a command wait for one another, and the command loses nothing', async () => {
    await other.query('DELETE FROM kysely_migration WHERE name = $1', [name])
    // One of the two has to give way, and here it is not the command.
    await other.query("SET deadlock_timeout = '1h'")
    await other.query('BEGIN')
    // What moves money writes its order first and the audit log last; the migration takes them the other way about.
    await other.query('LOCK TABLE orders IN ROW EXCLUSIVE MODE')
    const command = async () => {
      await expect.poll(waiting, { interval: 5 }).toBe(1)
      await other.query('LOCK TABLE audit_log IN ROW EXCLUSIVE MODE')
      await other.query('COMMIT')
    }
    expect(await Promise.all([store.migrate(), command()])).toEqual([[name], undefined])
  })
})
