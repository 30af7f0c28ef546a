import type { Configuration } from '../config/index.ts'
import type { DatabaseTarget } from '../database/index.ts'

/** The store that the configuration names: a PostgreSQL server, or the embedded one. */
export const databaseTarget = (
  settings: Configuration,
  onConnectionBroken: (error: Error) => void,
  onDiskFull: (isFull: boolean) => void = () => undefined,
): DatabaseTarget =>
  settings.databaseUrl
    ? { kind: 'postgres', url: settings.databaseUrl.reveal(), ...settings.database, onConnectionBroken }
    : { kind: 'embedded', directory: settings.dataDirectory, ...settings.database, onDiskFull }
