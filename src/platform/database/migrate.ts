import { type Migration, Migrator } from 'kysely/migration'
import { migrations } from './migrations/index.ts'
import type { Database } from './tables/index.ts'

/** Brings the schema up to date; replicas that start together take turns by the migrator's lock. Answers what it did. */
export const migrate = async (database: Database): Promise<string[]> => {
  const provider = { getMigrations: async (): Promise<Record<string, Migration>> => migrations }
  const { error, results = [] } = await new Migrator({ db: database, provider }).migrateToLatest()
  if (error) throw new Error('a migration failed', { cause: error })
  return results.map((result) => result.migrationName)
}
