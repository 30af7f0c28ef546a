import { Kysely, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EmbeddedStore } from '../../src/database/embedded/dialect.ts'
import { CommandGate, type Database, detached, inTransaction, type Tables, type Tx } from '../../src/database/index.ts'
import { emptyPglite } from '../harness/prepared-pglite.ts'

describe('a command with a gate', () => {
  let database: Database
  let close: () => Promise<void>
  beforeAll(async () => {
    const empty = await emptyPglite()
    const store = new EmbeddedStore(empty.pglite)
    database = new Kysely<Tables>({ dialect: store.dialect('database') })
    close = empty.close
    await sql`CREATE TABLE effects (name text)`.execute(database)
  })
  beforeEach(() => sql`DELETE FROM effects`.execute(database))
  afterAll(() => close())

  const write = (name: string, store: Database | Tx = database) =>
    sql`INSERT INTO effects VALUES (${name})`.execute(store)
  const effects = async () => {
    const { rows } = await sql<{ name: string }>`SELECT name FROM effects`.execute(database)
    return rows.map(({ name }) => name)
  }
  const gateOf = (check: (tx: Tx) => Promise<unknown> = async () => undefined) =>
    new CommandGate('transfers.create', async (tx) => void (await check(tx)))
  const refused = 'transfers.create has hooks: write inside `once` or `transaction`, where they run first'

  test('the check runs first in the transaction, which commits both', async () => {
    const gate = gateOf((tx) => write('check', tx))
    const seen = await gate.run(() =>
      inTransaction(database, async (tx) => {
        await write('work', tx)
        return effectsIn(tx)
      }),
    )
    expect([seen, await effects(), gate.hasPassed]).toEqual([['check', 'work'], ['check', 'work'], true])
  })

  const effectsIn = async (tx: Tx) =>
    (await sql<{ name: string }>`SELECT name FROM effects`.execute(tx)).rows.map(({ name }) => name)

  test('an error of the check rolls back, and is the outcome even if the command catches it', async () => {
    let hasWorked = false
    const gate = gateOf(async (tx) => {
      await write('check', tx)
      throw new Error('refused')
    })
    const run = gate.run(async () => {
      await inTransaction(database, async () => {
        hasWorked = true
      }).catch(() => undefined)
      return 'done'
    })
    await expect(run).rejects.toThrow('refused')
    expect([hasWorked, await effects(), gate.hasPassed]).toEqual([false, [], false])
  })

  test('a conflict runs the check again, and keeps the rows of the last attempt only', async () => {
    let attempts = 0
    const gate = gateOf((tx) => write(`check ${++attempts}`, tx))
    await gate.run(() =>
      inTransaction(database, async () => {
        if (attempts < 3) throw Object.assign(new Error('conflict'), { code: '40001' })
      }),
    )
    expect(await effects()).toEqual(['check 3'])
  })

  test('after a rollback, the next transaction begins with the check, and after a commit no other one does', async () => {
    let checks = 0
    const gate = gateOf(async () => ++checks)
    await gate.run(async () => {
      await expect(inTransaction(database, () => Promise.reject(new Error('undone')))).rejects.toThrow('undone')
      await inTransaction(database, (tx) => write('first', tx))
      await inTransaction(database, (tx) => write('second', tx))
    })
    expect([checks, await effects()]).toEqual([2, ['first', 'second']])
  })

  test.each([
    ['an insert', () => write('outside')],
    ['an insert in a CTE', () => sql`WITH added AS (INSERT INTO effects VALUES ('a')) SELECT 1`.execute(database)],
    ['an update after a comment', () => sql`/* SELECT */ UPDATE effects SET name = 'b'`.execute(database)],
    ['a function block', () => sql`DO $$ BEGIN INSERT INTO effects VALUES ('c'); END $$`.execute(database)],
    ["Kysely's own transaction", () => database.transaction().execute((tx) => write('own', tx))],
  ])('outside of a transaction, %s throws before it takes effect', async (_, change) => {
    const gate = gateOf()
    await expect(gate.run(change)).rejects.toThrow(refused)
    expect(await effects()).toEqual([])
  })

  test('outside of a transaction, the command can read, also texts that name statements', async () => {
    const gate = gateOf()
    const read = () => sql<{ text: string }>`SELECT 'delete and update' AS text -- insert`.execute(database)
    expect((await gate.run(read)).rows).toEqual([{ text: 'delete and update' }])
    expect(gate.hasPassed).toBe(false)
  })

  test('work that is detached, and work after the command, has no gate', async () => {
    const gate = gateOf(() => Promise.reject(new Error('refused')))
    let later: (() => Promise<unknown>) | undefined
    await gate.run(async () => {
      await detached(() => write('detached'))
      await new Promise<void>((resolve) => {
        setTimeout(() => {
          later = () => write('later')
          resolve()
        }, 1)
      })
    })
    await later?.()
    expect(await effects()).toEqual(['detached', 'later'])
  })
})
