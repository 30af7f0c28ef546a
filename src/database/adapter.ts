import { PostgresAdapter, PostgresDialect } from 'kysely'

/**
 * Kysely's migrator would take a lock of the session, which a pooler in transaction mode leaves behind on a connection
 * that others use next. `migrate` takes one of the transaction instead, so this one takes none.
 */
export class LocklessAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

export class LocklessPostgresDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new LocklessAdapter()
  }
}
