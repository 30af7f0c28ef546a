import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { schemaOwners } from '../../../src/compose/migrations.ts'
import type { OpenDatabase } from '../../../src/database/index.ts'
import { openPostgres } from '../../../src/database/postgres/open-postgres.ts'
import * as contract from '../../../src/domains/operators/contract.ts'
import { createLedgerHandlers } from '../../../src/domains/operators/handlers.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { callerOf, createWorld, type World } from '../world.ts'

const server = await startPostgres()
const statementTimeoutMs = 600

const open = (url: string, timeoutMs: number) =>
  openPostgres({
    kind: 'postgres',
    url,
    poolSize: 4,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: timeoutMs,
    lockTimeoutMs: timeoutMs,
    onConnectionBroken: () => undefined,
  })

let store: OpenDatabase
let world: World
beforeAll(async () => {
  if (!server) return
  const patient = await open(server.url, 20_000)
  await patient.migrate(schemaOwners)
  await patient.close()
  store = await open(server.url, statementTimeoutMs)
  world = await createWorld(async () => store)
})
afterAll(async () => {
  await store?.close()
  await server?.stop()
})

test.skipIf(!server)(
  'operators.ledgerInvariants 200: a book of any size is checked, once for all who ask',
  async () => {
    const { database, clock } = world
    const operator = callerOf(await world.account('operator@example.test', 'SYSTEM'), 'SYSTEM')
    const began: number[] = []
    const withoutTimeouts: OpenDatabase['withoutTimeouts'] = (work) => {
      began.push(clock.now())
      return store.withoutTimeouts(work)
    }
    const ledger = new Ledger({ database, clock, ids: systemIds })
    const handlers = createLedgerHandlers({ ledger, clock, withoutTimeouts: withoutTimeouts })
    const check = () => world.call(handlers, contract.checkLedgerInvariants, { as: operator })
    // Stands for a book that takes longer to read than a statement may.
    const slow = store.withoutTimeouts((own) =>
      own.transaction().execute(async (tx) => {
        await sql`LOCK TABLE ledger_entries IN ACCESS EXCLUSIVE MODE`.execute(tx)
        await pause(2.5 * statementTimeoutMs)
      }),
    )
    await pause(50)
    const found = await Promise.all([check(), check()])
    await slow
    expect(found).toMatchObject([{ holds: true }, { holds: true }])
    expect(found[0].checks.length).toBeGreaterThan(5)
    expect(began).toHaveLength(1)
    await check()
    expect(began).toHaveLength(2)
  },
)
