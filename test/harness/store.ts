import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import type { Variables } from '../../src/config/env.ts'
import { templateDatabase, urlOf } from './global-setup.ts'
import { copyTemplate } from './template.ts'

export interface TestStore {
  variables: Variables
  remove(): Promise<void>
}

const copyDatabase = async (serverUrl: string): Promise<TestStore> => {
  const name = `portico_${randomUUID().replaceAll('-', '')}`
  const admin = async (statement: string) => {
    const client = new Client({ connectionString: serverUrl })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await admin(`CREATE DATABASE ${name} TEMPLATE ${templateDatabase}`)
  return {
    variables: { DATABASE_URL: urlOf(serverUrl, name) },
    remove: () => admin(`DROP DATABASE ${name} WITH (FORCE)`),
  }
}

/** Whether this project's servers are there; a suite that needs them is skipped, and named, where they are not. */
export const storeIsAvailable = (): boolean => inject('topology') === 'embedded' || inject('postgresUrl') !== null

/** A migrated and seeded store of one's own, of the kind that the project's topology asks for. */
export const createStore = async (): Promise<TestStore> => {
  if (inject('topology') === 'embedded') {
    const { directory, remove } = await copyTemplate(inject('embeddedTemplate'))
    return { variables: { PORTICO_DATA_DIR: directory }, remove }
  }
  const serverUrl = inject('postgresUrl')
  if (!serverUrl) throw new Error('no PostgreSQL for this topology')
  return copyDatabase(serverUrl)
}
