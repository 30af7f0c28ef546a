import { readFile, writeFile } from 'node:fs/promises'
import { Client } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { isServerAway } from '../../../src/database/errors.ts'
import { openPostgres } from '../../../src/database/postgres/open-postgres.ts'
import { describeError } from '../../../src/kernel/index.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'

const server = await emptyPostgres()
afterAll(() => server?.stop())

test(
  'a wrong password: ends the start, and names the variable but not the password',
  needsPostgres(server),
  async () => {
    const admin = new Client({ connectionString: server?.url })
    await admin.connect()
    await admin.query("CREATE ROLE gateway LOGIN PASSWORD 'right'")
    const [{ hba_file: file }] = (await admin.query<{ hba_file: string }>('SHOW hba_file')).rows as [
      { hba_file: string },
    ]
    await writeFile(file, `host all gateway all scram-sha-256\n${await readFile(file, 'utf8')}`)
    await admin.query('SELECT pg_reload_conf()')
    const opening = (password: string) => {
      const url = new URL(server?.url ?? '')
      Object.assign(url, { username: 'gateway', password })
      const timeouts = { connectTimeoutMs: 20_000, statementTimeoutMs: 20_000, lockTimeoutMs: 10_000 }
      return openPostgres({
        kind: 'postgres',
        url: url.href,
        poolSize: 1,
        ...timeouts,
        onConnectionBroken: () => undefined,
      })
    }
    const refusalOf = async (password: string) => {
      try {
        await (await opening(password)).database.destroy()
        return null
      } catch (error) {
        return error
      }
    }
    // The server reads its files soon after the statement.
    await expect.poll(() => refusalOf('wrong-secret')).not.toBeNull()
    const error = await refusalOf('wrong-secret')
    expect(describeError(error)).toMatch(
      /^cannot connect to PostgreSQL at gateway@\S+ \(DATABASE_URL\): password authentication failed for user "gateway"$/,
    )
    expect(isServerAway(error)).toBe(false)
    expect(await refusalOf('right')).toBeNull()
    await admin.end()
  },
)
