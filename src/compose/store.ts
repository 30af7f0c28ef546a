import type { Configuration } from '../config/index.ts'
import type { DatabaseTarget } from '../database/index.ts'

/** Returns the store that the configuration names: a PostgreSQL server, or the embedded one. */
export const databaseTarget = (
  settings: Configuration,
  onConnectionBroken: (error: Error) => void,
  onDiskFull: (isFull: boolean) => void = () => undefined,
): DatabaseTarget =>
  settings.databaseUrl
    ? { kind: 'postgres', url: settings.databaseUrl.reveal(), ...settings.database, onConnectionBroken }
    : {
        kind: 'embedded',
        directory: settings.dataDirectory,
        isDurable: settings.profile === 'production',
        ...settings.database,
        onDiskFull,
      }

/**
 * Returns the name of the store for logs, without credentials: `postgresql db:5432/portico`, or `embedded
 * /var/lib/portico`.
 */
export const storeName = ({ databaseUrl, dataDirectory }: Configuration): string => {
  if (!databaseUrl) return `embedded ${dataDirectory}`
  const { hostname, port, pathname, searchParams } = new URL(databaseUrl.reveal())
  const host = searchParams.get('host') || hostname || 'localhost'
  return `postgresql ${host}:${searchParams.get('port') || port || '5432'}${pathname}`
}
