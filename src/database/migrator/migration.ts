import { sql } from 'kysely'
import type { Tx } from '../tables.ts'

/** One change of a schema. Never edit a released migration. Add a new migration that alters the tables instead. */
export interface Migration {
  /** A three-digit number and a name, such as `002-loan-terms`. Numbers ascend within an owner. */
  name: string
  up(tx: Tx): Promise<void>
}

/** An owner of tables: a domain, identity, the ledger or a part of the platform. */
export interface SchemaOwner {
  /** Name of the owner, stored with each applied migration. Never change the name. */
  owner: string
  migrations: readonly Migration[]
}

/** Returns a migration that executes SQL statements in order. */
export const sqlMigration = (name: string, statements: readonly string[]): Migration => ({
  name,
  up: async (tx) => {
    for (const statement of statements) await sql.raw(statement).execute(tx)
  },
})

/** A row of `portico_migrations`: a migration that the database has applied. */
export interface AppliedMigration {
  owner: string
  name: string
}

/** A migration that the database has not applied yet. */
export interface PendingMigration extends Migration {
  owner: string
}

const migrationName = /^\d{3}-[a-z0-9-]+$/
const numberOf = (name: string): string => name.slice(0, 3)

/** Throws if a migration has no number, or a lower one than the migration before it. */
export const assertNumbered = ({ owner, migrations }: SchemaOwner): void => {
  for (const [index, { name }] of migrations.entries()) {
    if (!migrationName.test(name)) throw new Error(`migration ${owner}/${name} is not named like 001-baseline`)
    const previous = migrations[index - 1]?.name
    if (previous !== undefined && numberOf(previous) >= numberOf(name))
      throw new Error(`migration ${owner}/${name} must have a higher number than ${previous}`)
  }
}

/**
 * Returns the migrations of an owner that the database has not applied. The database may contain migrations of a newer
 * version, because old and new replicas run side by side during a rollout. Throws if a migration was removed, renamed
 * or inserted between applied migrations.
 */
const pendingOf = ({ owner, migrations }: SchemaOwner, applied: readonly string[]): PendingMigration[] => {
  for (const [index, { name }] of migrations.entries()) {
    const found = applied[index]
    if (found !== undefined && found !== name)
      throw new Error(`the store has applied ${owner}/${found} where this version has ${owner}/${name}`)
  }
  return migrations.slice(applied.length).map((migration) => ({ ...migration, owner }))
}

/**
 * Returns the pending migrations in order. Throws if an owner's list is invalid or contradicts the applied migrations.
 */
export const pendingMigrations = (
  owners: readonly SchemaOwner[],
  applied: readonly AppliedMigration[],
): PendingMigration[] => {
  const duplicate = owners.find(({ owner }, index) => owners.slice(0, index).some((other) => other.owner === owner))
  if (duplicate) throw new Error(`two owners of migrations have the name ${duplicate.owner}`)
  owners.forEach(assertNumbered)
  return owners.flatMap((each) => {
    const names = applied.filter(({ owner }) => owner === each.owner).map(({ name }) => name)
    return pendingOf(each, names.sort())
  })
}
