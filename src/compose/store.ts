import type { Configuration } from '../config/index.ts'
import type { DatabaseTarget } from '../platform/database/index.ts'

/** The store that the configuration names: a PostgreSQL server, or the embedded one. */
export const databaseTarget = (
  settings: Configuration,
  onIdleError: (error: Error) => void,
  onDiskFull: (isFull: boolean) => void = () => undefined,
): DatabaseTarget =>
  settings.databaseUrl
    ? { kind: 'postgres', url: settings.databaseUrl.reveal(), ...settings.database, onIdleError }
    : { kind: 'embedded', directory: settings.dataDirectory, ...settings.database, onDiskFull }
