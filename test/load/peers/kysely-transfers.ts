import { randomInt, randomUUID } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import { Kysely, PGliteDialect, sql } from 'kysely'
import { accounts, parametrised, schema, statements } from './plain-transfer.ts'
import { serveRuns } from './runs.ts'

/* Runs the plain transfer statements on PGlite, with data on disk. */
const pglite = await PGlite.create({
  dataDir: process.env.DATA ?? '',
  postgresqlconf: ['shared_buffers=16MB', 'wal_buffers=1MB', 'min_wal_size=32MB', 'max_wal_size=64MB'],
})
const database = new Kysely<Record<string, never>>({ dialect: new PGliteDialect({ pglite }) })
for (const each of schema) await sql.raw(each).execute(database)

function transfer() {
  return database.transaction().execute(async (tx) => {
    const source = randomInt(1, accounts + 1)
    const target = 1 + ((source + randomInt(0, accounts - 1)) % accounts)
    const values = { id: randomUUID(), source, target, amount: randomInt(1, 101) }
    for (const each of statements) await parametrised(each, values).execute(tx)
  })
}

serveRuns(16, transfer)
