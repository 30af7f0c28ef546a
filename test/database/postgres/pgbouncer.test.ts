import { Client } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { startPgBouncer } from '../../harness/pgbouncer.ts'
import { emptyPostgres } from '../../harness/prepared-postgres.ts'

const server = await emptyPostgres()
const pooler = server && (await startPgBouncer(server.url, 2))
afterAll(async () => {
  await pooler?.stop()
  await server?.stop()
})

/** PgBouncer accepts connections without PostgreSQL. Their statements wait. */
function isServed(url = pooler?.url): Promise<boolean> {
  const client = new Client({ connectionString: url, query_timeout: 1_000 })
  client.on('error', () => undefined)
  return client
    .connect()
    .then(() => client.query('SELECT 1'))
    .then(
      () => true,
      () => false,
    )
    .finally(() => client.end().catch(() => undefined))
}

test(
  'PgBouncer as documented: a restart of PostgreSQL does not become an outage of 15 seconds',
  needs(pooler, 'PgBouncer is not installed'),
  async () => {
    expect(await isServed()).toBe(true)
    await server?.crash()
    // PgBouncer fails to log in, and waits for `server_login_retry` before it tries again.
    expect(await isServed()).toBe(false)
    await server?.resume()
    await expect.poll(() => isServed(), { timeout: 10_000, interval: 100 }).toBe(true)
  },
)

test('PgBouncer with the TLS of the guide: requires it', needs(pooler, 'PgBouncer is not installed'), async () => {
  const encrypted = await startPgBouncer(server?.url ?? '', 2, true)
  try {
    expect(await isServed(encrypted?.url)).toBe(true)
    expect(await isServed(encrypted?.url.replace('sslmode=verify-full', 'sslmode=disable'))).toBe(false)
  } finally {
    await encrypted?.stop()
  }
})
