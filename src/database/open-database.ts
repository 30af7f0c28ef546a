import type { EmbeddedTarget } from './embedded/open-embedded.ts'
import type { OpenDatabase } from './port.ts'
import type { PostgresTarget } from './postgres/open-postgres.ts'

export type DatabaseTarget = EmbeddedTarget | PostgresTarget

/** Opens the configured store. Loads only the driver that it needs. */
export const openDatabase = async (target: DatabaseTarget): Promise<OpenDatabase> => {
  if (target.kind === 'embedded') return (await import('./embedded/open-embedded.ts')).openEmbedded(target)
  return (await import('./postgres/open-postgres.ts')).openPostgres(target)
}
