import { sql } from 'kysely'
import type { Tx } from '../tables.ts'

/** One step of a schema. A released migration never changes: a later one alters what it created. */
export interface Migration {
  /** Three digits and a name, such as `002-loan-terms`. The digits ascend within an owner. */
  name: string
  up(tx: Tx): Promise<void>
}

/** An owner of tables: a domain, identity, the ledger or a part of the platform. */
export interface SchemaOwner {
  /** Recorded with each applied migration, so it never changes either. */
  owner: string
  migrations: readonly Migration[]
}

/** A migration that executes SQL statements in order. */
export const sqlMigration = (name: string, statements: readonly string[]): Migration => ({
  name,
  up: async (tx) => {
    for (const statement of statements) await sql.raw(statement).execute(tx)
  },
})
