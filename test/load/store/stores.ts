import { cp } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { Variables } from '../../../src/config/env.ts'
import { startPostgres, type TestPostgres } from '../../harness/postgres.ts'
import { runToEnd, unpinned } from '../rig/processes.ts'
import { openRig } from '../rig/workspace.ts'
import type { SeededAccount } from './accounts.ts'

export type Kind = 'pglite' | 'postgres'

export interface Store {
  kind: Kind
  variables: Variables
  accounts: readonly SeededAccount[]
}

const seedScript = fileURLToPath(import.meta.resolve('./seed.ts'))

const bench = openRig()
let server: Promise<TestPostgres | undefined> | null = null
let copies = 0

async function seed(variables: Variables): Promise<SeededAccount[]> {
  const env = { ...variables, LOG_LEVEL: 'error' }
  return JSON.parse(await runToEnd('load', process.execPath, [seedScript], env))
}

/** All scenarios share the server, with the settings of the first call, and all cores. Undefined if it is not installed. */
export function postgres(settings?: Record<string, string>): Promise<TestPostgres | undefined> {
  server ??= unpinned(() => startPostgres(settings))
  return server
}

export async function statement(url: string, text: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return url.href
}

async function embeddedTemplate() {
  const directory = bench.file('template')
  return { directory, accounts: await seed({ PORTICO_DATA_DIR: directory }) }
}
async function serverTemplate(url: string) {
  await statement(url, 'CREATE DATABASE bench_template')
  return { accounts: await seed({ DATABASE_URL: databaseUrl(url, 'bench_template') }) }
}
let embedded: ReturnType<typeof embeddedTemplate> | null = null
let served: ReturnType<typeof serverTemplate> | null = null

/** Seeds each kind of store once per run. */
export async function seededStore(kind: Kind): Promise<Store> {
  copies += 1
  const number = copies
  if (kind === 'pglite') {
    embedded ??= embeddedTemplate()
    const { directory, accounts } = await embedded
    const copy = bench.file(`pglite-${number}`)
    await cp(directory, copy, { recursive: true })
    return { kind, accounts, variables: { PORTICO_DATA_DIR: copy } }
  }
  const running = await postgres()
  if (!running) throw new Error('no PostgreSQL')
  served ??= serverTemplate(running.url)
  const { accounts } = await served
  await statement(running.url, `CREATE DATABASE bench_${number} TEMPLATE bench_template`)
  return { kind, accounts, variables: { DATABASE_URL: databaseUrl(running.url, `bench_${number}`) } }
}

/** PostgreSQL if it is installed, otherwise PGlite. */
export async function bestStore(): Promise<Store> {
  return seededStore((await postgres()) ? 'postgres' : 'pglite')
}

export async function closeStores(): Promise<void> {
  await (await server)?.stop()
  await bench[Symbol.asyncDispose]()
}
