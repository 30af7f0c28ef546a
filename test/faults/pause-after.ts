import { Client } from 'pg'
import { execute } from '../harness/prepared-postgres.ts'

export async function connectTo(connectionString: string): Promise<Client> {
  const client = new Client({ connectionString })
  await client.connect()
  return client
}

export interface Pause {
  /** Number of transactions that wait. */
  waiting(): Promise<number>
  release(): Promise<void>
}

/** Lets each transaction wait after such a statement, for example `INSERT ON events`, so that a test can kill its process. */
export async function pauseAfter(url: string, statement: string): Promise<Pause> {
  const client = await connectTo(url)
  await client.query('SELECT pg_advisory_lock(1)')
  await execute(
    url,
    `CREATE OR REPLACE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$`,
    `CREATE TRIGGER pause AFTER ${statement} EXECUTE FUNCTION pause()`,
  )
  const waiters = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted`
  return {
    waiting: async () => (await client.query(waiters)).rows.length,
    release: async () => {
      await client.end()
      await execute(url, 'DROP FUNCTION pause CASCADE')
    },
  }
}
