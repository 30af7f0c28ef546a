import type { TestProject } from 'vitest/node'
import { startServer } from '../../src/main.ts'
import { captureLog } from './log.ts'
import { startPostgres } from './postgres.ts'
import { openRecordings } from './recording/merge.ts'
import { startRedis } from './redis.ts'
import { redisRights, servingRights } from './rights.ts'
import { testSettings } from './settings.ts'

export type Topology = 'embedded' | 'split' | 'replicas'

declare module 'vitest' {
  interface ProvidedContext {
    topology: Topology
    postgresUrl: string | null
    redisUrl: string | null
    /** Where exchanges are left that may become examples in the documentation. */
    recordings: string | null
  }
}

export const templateDatabase = 'portico_template'

export const urlOf = (serverUrl: string, database: string): string => {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}

/** A suite that cannot run here is named when everything else is over; with CI=true it has failed by now. */
export const nameSkipped = (project: TestProject, why: string): void => {
  process.once('exit', () => process.stderr.write(`skipped: the ${project.name} suite (${why})\n`))
}

const setUpPostgres = async (project: TestProject) => {
  const postgres = await startPostgres()
  project.provide('postgresUrl', postgres?.url ?? null)
  if (!postgres) {
    nameSkipped(project, 'no PostgreSQL could be started')
    return async () => undefined
  }
  const { Client } = await import('pg')
  const tell = async (connectionString: string, ...statements: string[]) => {
    const client = new Client({ connectionString })
    await client.connect()
    await client.query(statements.join(';')).finally(() => client.end())
  }
  const template = urlOf(postgres.url, templateDatabase)
  await tell(postgres.url, `CREATE DATABASE ${templateDatabase}`)
  await (await startServer(testSettings({ DATABASE_URL: template }), 'gateway', captureLog().logger)).stop()
  await tell(template, ...servingRights)
  return () => postgres.stop()
}

const setUpRedis = async (project: TestProject) => {
  const redis = project.name === 'replicas' ? await startRedis() : undefined
  await redis?.ask(`ACL SETUSER portico on nopass ${redisRights()} +select`)
  project.provide('redisUrl', redis?.url.replace('//', '//portico:any@') ?? null)
  return async () => redis?.stop()
}

/** Once for a project: the store that its files' own stores are copies of, and for replicas what they share beside it. */
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
