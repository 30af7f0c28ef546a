import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { templateDatabase } from './global-setup.ts'
import { copyDatabase, urlOf } from './prepared-postgres.ts'
import { askRedis } from './redis.ts'
import { servingRole } from './rights.ts'
import { seededDirectory } from './template.ts'

export interface TestStore {
  variables: Variables
  /** URL for the role that owns the database. Empty on the embedded store. */
  databaseUrl: string
  remove(): Promise<void>
}

function servedUrl(serverUrl: string, name: string): string {
  const url = new URL(urlOf(serverUrl, name))
  url.username = servingRole
  return url.href
}

async function copyTemplate(serverUrl: string): Promise<TestStore> {
  const { name, drop } = await copyDatabase(serverUrl, templateDatabase)
  // All processes of a deployment share it.
  const directory = await mkdtemp(join(tmpdir(), 'portico-blobs-'))
  return {
    databaseUrl: urlOf(serverUrl, name),
    variables: { DATABASE_URL: servedUrl(serverUrl, name), PORTICO_DATA_DIR: directory },
    remove: async () => {
      await drop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function ownRedis(): Promise<Variables> {
  const url = inject('redisUrl')
  if (!url) return {}
  const number = await askRedis(Number(new URL(url).port), 'INCR test-databases')
  return { REDIS_URL: `${url}/${number.slice(1)}` }
}

/** Migrated and seeded, in the project's topology. */
export async function createStore(): Promise<TestStore> {
  if (inject('topology') === 'embedded') {
    const { directory, remove } = await seededDirectory()
    return { variables: { PORTICO_DATA_DIR: directory }, databaseUrl: '', remove }
  }
  const serverUrl = inject('postgresUrl')
  if (!serverUrl) throw new Error('no PostgreSQL for this topology')
  const store = await copyTemplate(serverUrl)
  return { ...store, variables: { ...store.variables, ...(await ownRedis()) } }
}
