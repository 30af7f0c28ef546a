import { sql } from 'kysely'
import type { Tx } from '../tables.ts'

/** One change of a schema. Never edit a released migration; add a new one instead. */
export interface Migration {
  /** A three-digit number and a name, such as `002-loan-terms`. Numbers ascend within an owner. */
  name: string
  up(tx: Tx): Promise<void>
}

/** A domain, identity, the ledger or a part of the platform. */
export interface SchemaOwner {
  /** Stored with each applied migration. Never change it. */
  owner: string
  migrations: readonly Migration[]
}

/** Executes SQL statements in order. */
export const sqlMigration = (name: string, statements: readonly string[]): Migration => ({
  name,
  up: async (tx) => {
    for (const statement of statements) await sql.raw(statement).execute(tx)
  },
})

export interface AppliedMigration {
  owner: string
  name: string
}

export interface PendingMigration extends Migration {
  owner: string
}

const migrationName = /^\d{3}-[a-z0-9-]+$/
const numberOf = (name: string): string => name.slice(0, 3)

export const assertNumbered = ({ owner, migrations }: SchemaOwner): void => {
  for (const [index, { name }] of migrations.entries()) {
    if (!migrationName.test(name))
      throw new Error(
        `migration ${owner}/${name} is not named like 001-baseline: use a three-digit number and lower-case words`,
      )
    const previous = migrations[index - 1]?.name
    if (previous !== undefined && numberOf(previous) >= numberOf(name))
      throw new Error(
        `migration ${owner}/${name} must have a higher number than ${previous}: number it after all others`,
      )
  }
}

/**
 * During a rollout, the database may contain migrations of a newer version. Throws if a migration was removed, renamed
 * or inserted between applied ones.
 */
const pendingOf = ({ owner, migrations }: SchemaOwner, applied: readonly string[]): PendingMigration[] => {
  for (const [index, { name }] of migrations.entries()) {
    const found = applied[index]
    if (found !== undefined && found !== name)
      throw new Error(
        `the store has applied ${owner}/${found} where this version has ${owner}/${name}: restore the applied one, and add changes as a new migration`,
      )
  }
  return migrations.slice(applied.length).map((migration) => ({ ...migration, owner }))
}

export const pendingMigrations = (
  owners: readonly SchemaOwner[],
  applied: readonly AppliedMigration[],
): PendingMigration[] => {
  const duplicate = owners.find(({ owner }, index) => owners.slice(0, index).some((other) => other.owner === owner))
  if (duplicate) throw new Error(`two owners of migrations have the name ${duplicate.owner}: rename one`)
  owners.forEach(assertNumbered)
  return owners.flatMap((each) => {
    const names = applied.filter(({ owner }) => owner === each.owner).map(({ name }) => name)
    return pendingOf(each, names.sort())
  })
}
