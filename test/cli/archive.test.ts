import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseTarget } from '../../src/compose/store.ts'
import { openDatabase } from '../../src/database/index.ts'
import { runCli } from '../harness/cli.ts'
import { testSettings } from '../harness/settings.ts'
import { seededDirectory } from '../harness/template.ts'

describe('portico archive', () => {
  let store: Awaited<ReturnType<typeof seededDirectory>>
  beforeAll(async () => {
    store = await seededDirectory()
  })
  afterAll(() => store?.remove())

  const archive = (...args: string[]) => runCli(['archive', ...args], {}, { PORTICO_DATA_DIR: store.directory })
  const execute = async (...statements: string[]): Promise<unknown[]> => {
    const opened = await openDatabase(
      databaseTarget(testSettings({ PORTICO_DATA_DIR: store.directory }), () => undefined),
    )
    try {
      let rows: unknown[] = []
      for (const statement of statements) rows = (await sql.raw(statement).execute(opened.database)).rows
      return rows
    } finally {
      await opened.close()
    }
  }
  const required = () => ['--out', store.directory, '--reason', 'a test']

  test.each([
    [['jobs'], 'the table must be one of ledger, audit, sign-ins'],
    [['events'], 'the table must be one of ledger, audit, sign-ins'],
    [['ledger', '--reason', 'a test'], '--out is required'],
    [['ledger', '--out', '/'], '--reason is required'],
    [['ledger', '--out', '/', '--reason', 'a test', '--older-than', '91'], 'at least 92 days'],
    [['ledger', '--out', '/no-such-folder', '--reason', 'a test'], 'does not exist'],
  ])('%j: refused', async (args, message) => {
    const { code, err } = await archive(...args)
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })
  test.each(['ledger', 'audit', 'sign-ins'])('%s: nothing is old enough', async (table) => {
    expect(await archive(table, ...required(), '--dry-run')).toMatchObject({
      code: 1,
      out: 'no partition is old enough\n',
    })
    expect(await archive(table, ...required())).toMatchObject({ code: 1, out: 'no partition is old enough\n' })
  })
  test('a partition that is old enough: its file has the digest of the audit entry', async () => {
    const upper = `(SELECT upper FROM partition_list('login_history') WHERE lower IS NULL)`
    const [bound] = (await execute(`SELECT upper FROM ${upper} AS t(upper)`)) as { upper: string }[]
    await execute(
      'CREATE TABLE login_history_old (LIKE login_history_first INCLUDING ALL)',
      `INSERT INTO login_history_old SELECT gen_random_uuid(), portal, biz_id, '2019-05-01Z', '::1', 'a', 1, NULL FROM accounts`,
      'ALTER TABLE login_history DETACH PARTITION login_history_first',
      `ALTER TABLE login_history ATTACH PARTITION login_history_old FOR VALUES FROM (MINVALUE) TO ('2020-01-01Z')`,
      `ALTER TABLE login_history ATTACH PARTITION login_history_first FOR VALUES FROM ('2020-01-01Z') TO ('${bound?.upper}')`,
    )
    const shown = await archive('sign-ins', ...required(), '--dry-run', '--json')
    expect(JSON.parse(shown.out)).toEqual({
      archived: null,
      partition: { name: 'login_history_old', until: '2020-01-01T00:00:00.000Z' },
    })
    expect(existsSync(join(store.directory, 'login_history_old.jsonl'))).toBe(false)
    const done = await archive('sign-ins', ...required(), '--json')
    expect(done, done.err).toMatchObject({ code: 0 })
    const { archived } = JSON.parse(done.out)
    expect(archived).toMatchObject({ name: 'login_history_old', file: 'login_history_old.jsonl' })
    expect(existsSync(join(store.directory, archived.file))).toBe(true)
    const [entry] = await execute(`SELECT detail FROM audit_log WHERE action = 'archive'`)
    expect(entry).toEqual({
      detail: { reason: 'a test', file: archived.file, rows: String(archived.rows), sha256: archived.sha256 },
    })
    expect(await execute(`SELECT FROM pg_class WHERE relname = 'login_history_old'`)).toEqual([])
  })
})
