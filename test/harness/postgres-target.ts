import { sql } from 'kysely'
import type { OpenDatabase } from '../../src/database/index.ts'

/** With long timeouts, so that a failure on a busy machine cannot be a timeout. */
export function postgresTarget(url: string) {
  return {
    kind: 'postgres',
    url,
    poolSize: 2,
    connectTimeoutMs: 20_000,
    statementTimeoutMs: 20_000,
    lockTimeoutMs: 10_000,
    onConnectionBroken: () => undefined,
  } as const
}

/** Runs a statement on `count` connections, each held until all have run theirs. Returns the process ids. */
export function onConnections(
  { database }: Pick<OpenDatabase, 'database'>,
  count: number,
  statement = sql`SELECT 1`,
): Promise<number[]> {
  const all = Promise.withResolvers<void>()
  let done = 0
  const work = () =>
    database.connection().execute(async (one) => {
      await statement.execute(one)
      const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(one)
      if (++done === count) all.resolve()
      await all.promise
      return rows[0]?.pid ?? 0
    })
  return Promise.all(Array.from({ length: count }, work))
}
