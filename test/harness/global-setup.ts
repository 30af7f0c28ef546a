import type { TestProject } from 'vitest/node'
import { execute, startWithTemplate } from './prepared-postgres.ts'
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

async function setUpPostgres(project: TestProject) {
  const postgres = await startWithTemplate(templateDatabase, async (url) => {
    await seed({ DATABASE_URL: url })
    await execute(url, ...servingRights)
  })
  project.provide('postgresUrl', postgres?.url ?? null)
  return async () => postgres?.stop()
}

async function setUpRedis(project: TestProject) {
  const redis = await startRedis()
  await redis?.sendRequest(`ACL SETUSER portico on nopass ${redisRights()} +select`)
  project.provide('redisUrl', redis?.url.replace('//', '//portico:any@') ?? null)
  return async () => redis?.stop()
}

/** Starts PostgreSQL with a seeded template database, and Redis, for the distributed project. */
async function setUp(project: TestProject): Promise<() => Promise<unknown>> {
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
