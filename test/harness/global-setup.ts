import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres.ts'
import { openRecordings } from './recording/merge.ts'
import { startRedis } from './redis.ts'
import { redisRights, servingRights } from './rights.ts'
import { seed } from './template.ts'

export type Topology = 'embedded' | 'distributed'

declare module 'vitest' {
  interface ProvidedContext {
    topology: Topology
    postgresUrl: string | null
    redisUrl: string | null
    /** Source of the documentation's examples. Null when recording is off. */
    recordings: string | null
  }
}

export const templateDatabase = 'portico_template'

export const urlOf = (serverUrl: string, database: string): string => {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}

const setUpPostgres = async (project: TestProject) => {
  const postgres = await startPostgres()
  project.provide('postgresUrl', postgres?.url ?? null)
  if (!postgres) return async () => undefined
  const { Client } = await import('pg')
  const execute = async (connectionString: string, ...statements: string[]) => {
    const client = new Client({ connectionString })
    await client.connect()
    await client.query(statements.join(';')).finally(() => client.end())
  }
  const template = urlOf(postgres.url, templateDatabase)
  await execute(postgres.url, `CREATE DATABASE ${templateDatabase}`)
  await seed({ DATABASE_URL: template })
  await execute(template, ...servingRights)
  return () => postgres.stop()
}

const setUpRedis = async (project: TestProject) => {
  const redis = await startRedis()
  await redis?.sendRequest(`ACL SETUSER portico on nopass ${redisRights()} +select`)
  project.provide('redisUrl', redis?.url.replace('//', '//portico:any@') ?? null)
  return async () => redis?.stop()
}

/** Starts PostgreSQL with a seeded template database, and Redis, for the distributed project. */
const setUp = async (project: TestProject): Promise<() => Promise<unknown>> => {
  const recordings = openRecordings()
  project.provide('recordings', recordings.folder)
  if (project.name === 'embedded') return async () => recordings.merge()
  const [stopPostgres, stopRedis] = [await setUpPostgres(project), await setUpRedis(project)]
  return async () => {
    await stopRedis()
    await stopPostgres()
  }
}

export default setUp
