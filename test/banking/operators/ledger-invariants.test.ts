import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/operators/contract.ts'
import { createLedgerHandlers } from '../../../src/banking/operators/handlers.ts'
import type { OpenDatabase } from '../../../src/database/index.ts'
import { openPostgres } from '../../../src/database/postgres/open-postgres.ts'
import { createLedger } from '../../../src/ledger/ledger.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'
import { callerOf, createWorld, types, type World } from '../world.ts'

const server = await emptyPostgres()
const statementTimeoutMs = 600

function open(url: string, timeoutMs: number) {
  return openPostgres({
    kind: 'postgres',
    url,
    poolSize: 4,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: timeoutMs,
    lockTimeoutMs: timeoutMs,
    onConnectionBroken: () => undefined,
  })
}

let store: OpenDatabase
let world: World
beforeAll(async () => {
  if (!server) return
  const migrating = await open(server.url, 20_000)
  await migrating.migrate(schemaOwners)
  await migrating.close()
  store = await open(server.url, statementTimeoutMs)
  world = await createWorld(async () => store)
})
afterAll(async () => {
  await store?.close()
  await server?.stop()
})

test(
  'operators.ledgerInvariants 200: no statement timeout, one check for concurrent requests',
  needsPostgres(server),
  async () => {
    const { database, clock } = world
    const operator = callerOf(await world.account('operator@example.test', 'SYSTEM'), 'SYSTEM')
    const checksStarted: number[] = []
    const withoutTimeouts: OpenDatabase['withoutTimeouts'] = (work) => {
      checksStarted.push(clock.now())
      return store.withoutTimeouts(work)
    }
    const ledger = createLedger({ database, clock, ids: systemIds, types })
    const handlers = createLedgerHandlers({ ledger, clock, withoutTimeouts: withoutTimeouts })
    const check = () => world.call(handlers, contract.checkLedgerInvariants, { as: operator })
    // Takes longer than the statement timeout.
    const slow = store.withoutTimeouts((database) =>
      database.transaction().execute(async (tx) => {
        await sql`LOCK TABLE ledger_entries IN ACCESS EXCLUSIVE MODE`.execute(tx)
        await pause(2.5 * statementTimeoutMs)
      }),
    )
    await pause(50)
    const reports = await Promise.all([check(), check()])
    await slow
    expect(reports).toMatchObject([{ holds: true }, { holds: true }])
    expect(reports[0].checks.length).toBeGreaterThan(5)
    expect(checksStarted).toHaveLength(1)
    await check()
    expect(checksStarted).toHaveLength(2)
  },
)
