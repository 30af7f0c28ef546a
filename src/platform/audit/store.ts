import { sql } from 'kysely'
import { type Database, type Param, run, type Statements, statement, type Tx } from '../../database/index.ts'
import { type AuditOutcome, type Instant, type Portal, toDate } from '../../kernel/index.ts'

/** One audit entry. `detail` holds codes, ids, amounts and a stated reason, but no secrets and no addresses. */
export interface AuditEntry {
  at: Instant
  portal: Portal
  actorId: string | null
  workspaceId: string | null
  /** The id of the operation or the job. */
  action: string
  targetId: string | null
  outcome: AuditOutcome
  requestId: string
  clientIp: string
  detail: Record<string, string | number | boolean | null>
}

const insertEntry = statement((store, param: Param<Omit<AuditEntry, 'at' | 'detail'> & { at: Date; detail: string }>) =>
  store.insertInto('audit_log').values({
    at: param('at'),
    portal: param('portal'),
    actorBizId: param('actorId'),
    workspaceBizId: param('workspaceId'),
    action: param('action'),
    targetBizId: param('targetId'),
    outcome: param('outcome'),
    requestId: param('requestId'),
    clientIp: param('clientIp'),
    detail: param('detail'),
  }),
)

export function newAuditEntry(entry: AuditEntry): Statements<unknown> {
  return insertEntry.with({ ...entry, at: toDate(entry.at), detail: JSON.stringify(entry.detail) })
}

export async function insertAuditEntry(tx: Tx | Database, entry: AuditEntry): Promise<void> {
  await run(tx, newAuditEntry(entry))
}

export async function latestDetail(tx: Tx, action: string): Promise<unknown> {
  const newest = tx.selectFrom('audit_log').where('action', '=', action).orderBy('at', 'desc').limit(1)
  return (await newest.select('detail').executeTakeFirst())?.detail
}

/** Holds the lock until the transaction ends. */
export async function lockAction(tx: Tx, action: string): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${action}, 0))`.execute(tx)
}

/** The hash covers these fields. `at` is in microseconds, the database's resolution. */
export interface EntryContent {
  bizId: string
  atMicros: string
  portal: string
  actorId: string | null
  workspaceId: string | null
  action: string
  targetId: string | null
  outcome: string
  requestId: string
  clientIp: string
  detail: unknown
}

export interface Head {
  sequence: number
  hash: Uint8Array
}

/** Before the first entry. */
export const start: Head = { sequence: 0, hash: new Uint8Array(32) }

export interface SealedEntry {
  sequence: number
  previousHash: Uint8Array
  hash: Uint8Array
  content: EntryContent
}

const content = [
  'bizId',
  sql<string>`(extract(epoch FROM at) * 1000000)::bigint::text`.as('atMicros'),
  'portal',
  'actorBizId as actorId',
  'workspaceBizId as workspaceId',
  'action',
  'targetBizId as targetId',
  'outcome',
  'requestId',
  'clientIp',
  'detail',
] as const

/** The lock allows only one replica at a time to extend the chain. */
export function lockHead(tx: Tx): Promise<Head> {
  return tx.selectFrom('audit_chain').select(['sequence', 'hash']).forUpdate().executeTakeFirstOrThrow()
}

/** The head, and the last entry that is archived, behind which verification starts. */
export async function readEnds(database: Database): Promise<{ head: Head; archived: Head } | undefined> {
  const found = await database
    .selectFrom('audit_chain as c')
    .leftJoin('audit_archive as a', 'a.isOnly', 'c.isOnly')
    .select(['c.sequence', 'c.hash', 'a.sequence as lastSequence', 'a.hash as lastHash'])
    .executeTakeFirst()
  if (!found) return undefined
  const { lastSequence, lastHash, ...head } = found
  return { head, archived: lastSequence === null || !lastHash ? start : { sequence: lastSequence, hash: lastHash } }
}

export function readHead(database: Database): Promise<Head | undefined> {
  return database.selectFrom('audit_chain').select(['sequence', 'hash']).executeTakeFirst()
}

/**
 * Reads the first sealed entry before the start of the chain or after its head. A partition that is about to be dropped
 * has entries before the start. Uses one statement, because sealing changes entries
 * and head together, and two index scans, because OR would read the whole chain.
 */
export function unlinkedEntry(database: Database): Promise<{ sequence: number; bizId: string } | undefined> {
  const before = firstSealed(database)
    .where('sequence', '<=', sql<number>`coalesce((SELECT sequence FROM audit_archive), 0)`)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('archived_partitions')
            .select('tableName')
            .where('tableName', '=', 'audit_log')
            .where('droppedAt', 'is', null),
        ),
      ),
    )
  const after = firstSealed(database).where('sequence', '>', (head) =>
    head.selectFrom('audit_chain').select('sequence'),
  )
  return database
    .selectFrom(before.as('before'))
    .selectAll()
    .unionAll(database.selectFrom(after.as('after')).selectAll())
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
}

export function unsealedEntries(tx: Tx, limit: number): Promise<EntryContent[]> {
  return tx
    .selectFrom('audit_log')
    .select(content)
    .where('sequence', 'is', null)
    .orderBy('at')
    .orderBy('bizId')
    .limit(limit)
    .execute()
}

export interface Seal {
  bizId: string
  atMicros: string
  sequence: number
  previousHash: Uint8Array
  hash: Uint8Array
}

export async function writeSeals(tx: Tx, seals: readonly Seal[], head: Head): Promise<void> {
  const rows = seals.map((seal) => ({
    id: seal.bizId,
    micros: seal.atMicros,
    sequence: seal.sequence,
    previous: hex(seal.previousHash),
    hash: hex(seal.hash),
  }))
  await sql`
    UPDATE audit_log SET sequence = s.sequence, previous_hash = decode(s.previous, 'hex'), hash = decode(s.hash, 'hex')
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS s (id uuid, micros bigint, sequence bigint, previous text, hash text)
     WHERE audit_log.biz_id = s.id AND audit_log.at = timestamptz 'epoch' + s.micros * interval '1 microsecond'`.execute(
    tx,
  )
  await tx
    .updateTable('audit_chain')
    .set({ sequence: head.sequence, hash: Buffer.from(head.hash) })
    .execute()
}

export async function sealedEntries(database: Database, after: number, limit: number): Promise<SealedEntry[]> {
  const rows = await database
    .selectFrom('audit_log')
    .select(content)
    .select([
      sql<number>`sequence`.as('sequence'),
      sql<Uint8Array>`previous_hash`.as('previousHash'),
      sql<Uint8Array>`hash`.as('hash'),
    ])
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit)
    .execute()
  return rows.map(({ sequence, previousHash, hash, ...entry }) => ({ sequence, previousHash, hash, content: entry }))
}

export async function readExported(database: Database): Promise<number> {
  return (await database.selectFrom('audit_export').select('sequence').executeTakeFirstOrThrow()).sequence
}

/** Returns false if another replica has advanced the position. */
export async function advanceExported(database: Database, from: number, to: number): Promise<boolean> {
  const advanced = await database
    .updateTable('audit_export')
    .set({ sequence: to })
    .where('sequence', '=', from)
    .returning('sequence')
    .executeTakeFirst()
  return advanced !== undefined
}

/** The number of sealed entries that have not left the store, and when the first of them was written. */
export async function readExportLag(database: Database): Promise<{ entries: number; oldestAt: Instant | null }> {
  const { sequence, exported } = await database
    .selectFrom('audit_chain')
    .innerJoin('audit_export', 'audit_export.isOnly', 'audit_chain.isOnly')
    .select(['audit_chain.sequence', 'audit_export.sequence as exported'])
    .executeTakeFirstOrThrow()
  const oldest = database
    .selectFrom('audit_log')
    .select('at')
    .where('sequence', '=', exported + 1)
  return { entries: sequence - exported, oldestAt: (await oldest.executeTakeFirst())?.at ?? null }
}

function firstSealed(database: Database) {
  return database
    .selectFrom('audit_log')
    .select([sql<number>`sequence`.as('sequence'), 'bizId'])
    .orderBy('sequence')
    .limit(1)
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}
