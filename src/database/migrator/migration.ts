import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Database, Tx } from '../tables.ts'
import { isOlder, type Release, thisRelease } from './release.ts'

/** One change of a schema. Never edit a released migration; add a new one instead. */
export interface Migration {
  /** A three-digit number and a name, such as `002-loan-terms`. Numbers ascend within an owner. */
  name: string
  up(tx: Tx): Promise<void>
  /** Stored once applied. A migration with another checksum is refused. Set by `sqlMigration`. */
  checksum?: string
}

/** A domain, identity, the ledger or a part of the platform. */
export interface SchemaOwner {
  /** Stored with each applied migration. Never change it. */
  owner: string
  migrations: readonly Migration[]
}

/** Executes SQL statements in order. Once applied, they cannot change. */
export function sqlMigration(name: string, statements: readonly string[]): Migration {
  if (statements.some(Array.isArray)) throw new TypeError(`${name} has a list: spread it, as in ...recordChanges(…)`)
  return {
    name,
    checksum: checksumOf(statements),
    up: async (tx) => {
      for (const statement of statements) await sql.raw(statement).execute(tx)
    },
  }
}

export interface AppliedMigration {
  owner: string
  name: string
  /** Null if an earlier version applied the migration, or if it is a function. */
  checksum: string | null
  /** Null if a version applied the migration that stored no versions. */
  release: Release | null
}

export async function readApplied(store: Database | Tx): Promise<AppliedMigration[]> {
  const { exists, hasChecksums, hasVersions } = await findTable(store)
  if (!exists) return []
  const column = (name: string, isPresent: boolean) => (isPresent ? sql.ref<string | null>(name) : sql<null>`NULL`)
  const rows = await store
    .selectFrom('portico_migrations')
    .select([
      'owner',
      'name',
      column('checksum', hasChecksums).as('checksum'),
      column('version', hasVersions).as('version'),
      column('compatibleWith', hasVersions).as('compatibleWith'),
    ])
    .execute()
  return rows.map(({ version, compatibleWith, ...row }) => ({
    ...row,
    release: version !== null && compatibleWith !== null ? { version, compatibleWith } : null,
  }))
}

export async function hasSchema(database: Database): Promise<boolean> {
  return (await readApplied(database)).length > 0
}

/** Returns the applied migrations. */
export async function prepareTable(tx: Tx): Promise<AppliedMigration[]> {
  const { exists, hasChecksums, hasVersions } = await findTable(tx)
  if (!exists)
    await sql`
      CREATE TABLE portico_migrations (
        owner text NOT NULL,
        name text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now(),
        checksum text,
        version text,
        compatible_with text,
        PRIMARY KEY (owner, name)
      )`.execute(tx)
  if (exists && !hasChecksums) await sql`ALTER TABLE portico_migrations ADD COLUMN checksum text`.execute(tx)
  if (exists && !hasVersions)
    await sql`ALTER TABLE portico_migrations ADD COLUMN version text, ADD COLUMN compatible_with text`.execute(tx)
  return readApplied(tx)
}

export interface PendingMigration extends Migration {
  owner: string
}

const migrationName = /^\d{3}-[a-z0-9-]+$/

export function assertNumbered({ owner, migrations }: SchemaOwner): void {
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

/** Versions without checksums have applied these. */
export function withoutChecksum(owners: readonly SchemaOwner[], applied: readonly AppliedMigration[]) {
  return owners.flatMap(({ owner, migrations }) =>
    migrations.flatMap(({ name, checksum }) =>
      checksum && applied.some((each) => each.owner === owner && each.name === name && each.checksum === null)
        ? [{ owner, name, checksum }]
        : [],
    ),
  )
}

export async function fillChecksums(tx: Tx, missing: ReturnType<typeof withoutChecksum>): Promise<void> {
  for (const { owner, name, checksum } of missing) {
    const update = tx.updateTable('portico_migrations').set({ checksum })
    await update.where('owner', '=', owner).where('name', '=', name).execute()
  }
}

export function pendingMigrations(
  owners: readonly SchemaOwner[],
  applied: readonly AppliedMigration[],
  release = thisRelease,
): PendingMigration[] {
  const duplicate = owners.find(({ owner }, index) => owners.slice(0, index).some((other) => other.owner === owner))
  if (duplicate) throw new Error(`two owners of migrations have the name ${duplicate.owner}: rename one`)
  owners.forEach(assertNumbered)
  assertCompatible(owners, applied, release)
  return owners.flatMap((each) => {
    const own = applied.filter(({ owner }) => owner === each.owner)
    own.sort((one, other) => (one.name < other.name ? -1 : 1))
    return pendingOf(each, own, release)
  })
}

/** White space can change with the formatting of the source. */
function checksumOf(statements: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify(statements.map((each) => each.replaceAll(/\s+/g, ' ').trim())))
    .digest('hex')
}

interface MigrationTable {
  exists: boolean
  hasChecksums: boolean
  hasVersions: boolean
}

async function findTable(store: Database | Tx): Promise<MigrationTable> {
  const found = sql<MigrationTable>`
    SELECT to_regclass('portico_migrations') IS NOT NULL AS exists,
      count(*) FILTER (WHERE attname = 'checksum') = 1 AS "hasChecksums",
      count(*) FILTER (WHERE attname = 'compatible_with') = 1 AS "hasVersions"
    FROM pg_attribute WHERE attrelid = to_regclass('portico_migrations') AND NOT attisdropped`
  return (await found.execute(store)).rows[0] ?? { exists: false, hasChecksums: false, hasVersions: false }
}

function numberOf(name: string): string {
  return name.slice(0, 3)
}

/** During a rollout, the database can contain migrations of the next release, but not of a later one. */
function assertCompatible(
  owners: readonly SchemaOwner[],
  applied: readonly AppliedMigration[],
  { version }: Release,
): void {
  const known = new Set(owners.flatMap(({ owner, migrations }) => migrations.map(({ name }) => `${owner}/${name}`)))
  for (const { owner, name, release } of applied)
    if (release && !known.has(`${owner}/${name}`) && isOlder(version, release.compatibleWith))
      throw new Error(
        `Portico ${release.version} has migrated the store (${owner}/${name}), and this is Portico ${version}: start ${release.compatibleWith} or a newer version`,
      )
}

/**
 * During a rollout, the database may contain migrations of a newer version. Throws if a migration was changed, removed,
 * renamed or inserted between applied ones.
 */
function pendingOf(
  { owner, migrations }: SchemaOwner,
  applied: readonly AppliedMigration[],
  { version }: Release,
): PendingMigration[] {
  const restore = ({ release }: AppliedMigration): string =>
    `restore the applied one, and add changes as a new migration (applied by Portico ${release?.version ?? 'of an unknown version'}, this is Portico ${version})`
  for (const [index, { name, checksum }] of migrations.entries()) {
    const found = applied[index]
    if (found && found.name !== name)
      throw new Error(
        `the store has applied ${owner}/${found.name} where this version has ${owner}/${name}: ${restore(found)}`,
      )
    if (found?.checksum && found.checksum !== checksum)
      throw new Error(`the migration ${owner}/${name} has changed since the store applied it: ${restore(found)}`)
  }
  return migrations.slice(applied.length).map((migration) => ({ ...migration, owner }))
}
