import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { Variables } from '../../../src/config/env.ts'
import { startPostgres } from '../../harness/postgres.ts'
import { startRedis } from '../../harness/redis.ts'
import { runToEnd, unpinned } from '../rig/processes.ts'
import type { Rig } from '../rig/workspace.ts'
import type { SeededAccount } from '../store/accounts.ts'
import { databaseUrl, statement } from '../store/stores.ts'

/** Since the servers started. */
export interface Counts {
  /** Statements of clients, with BEGIN and COMMIT. */
  statements: number
  /** With the commands that scripts call. */
  commands: number
}

/** A database and a Redis server, shared by the replicas of one deployment. */
export interface SharedStores {
  variables: Variables
  accounts: readonly SeededAccount[]
  readCounts(): Promise<Counts>
}

const seedScript = fileURLToPath(import.meta.resolve('../store/seed.ts'))
const template = 'replicas_template'

/** pg_stat_statements counts immediately. The counters of pg_stat_database lag by seconds. */
const settings = { shared_preload_libraries: 'pg_stat_statements', max_connections: '400' }

async function countStatements(client: Client, database: string): Promise<number> {
  const { rows } = await client.query<{ calls: string }>(
    `SELECT coalesce(sum(calls), 0) AS calls FROM pg_stat_statements
      JOIN pg_database ON pg_database.oid = dbid WHERE datname = $1`,
    [database],
  )
  return Number(rows[0]?.calls)
}

function totalCommands(information: string): number {
  return Number(/total_commands_processed:(\d+)/.exec(information)?.[1] ?? Number.NaN)
}

/** Returns a function that creates stores with equal data. All are on one PostgreSQL server. */
export async function openStores(rig: Rig): Promise<(name: string) => Promise<SharedStores>> {
  const server = await unpinned(() => startPostgres(settings))
  if (!server) throw new Error('needs PostgreSQL')
  rig.stopAtEnd(server)
  const client = new Client({ connectionString: server.url })
  await client.connect()
  rig.stopAtEnd({ stop: () => client.end() })
  await client.query('CREATE EXTENSION pg_stat_statements')
  await client.query(`CREATE DATABASE ${template}`)
  const env = { DATABASE_URL: databaseUrl(server.url, template), LOG_LEVEL: 'error' }
  const accounts: SeededAccount[] = JSON.parse(await runToEnd('load', process.execPath, [seedScript], env))
  return async (name) => {
    await statement(server.url, `CREATE DATABASE ${name} TEMPLATE ${template}`)
    const redis = await unpinned(() => startRedis())
    if (!redis) throw new Error('needs Redis')
    rig.stopAtEnd(redis)
    const readCounts = async (): Promise<Counts> => ({
      statements: await countStatements(client, name),
      commands: totalCommands(await redis.query('INFO stats')),
    })
    return { variables: { DATABASE_URL: databaseUrl(server.url, name), REDIS_URL: redis.url }, accounts, readCounts }
  }
}
