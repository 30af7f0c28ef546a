import { sql } from 'kysely'
import { type Database, type Param, statement, type Tx } from '../../database/index.ts'
import { type AuditOutcome, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { EntryContent } from './seal.ts'

/** One audit entry. `detail` holds codes, ids, amounts and a stated reason, never secrets or addresses. */
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

const insertEntry = statement((store, given: Param<Omit<AuditEntry, 'at' | 'detail'> & { at: Date; detail: string }>) =>
  store.insertInto('audit_log').values({
    at: given('at'),
    portal: given('portal'),
    actor_biz_id: given('actorId'),
    workspace_biz_id: given('workspaceId'),
    action: given('action'),
    target_biz_id: given('targetId'),
    outcome: given('outcome'),
    request_id: given('requestId'),
    client_ip: given('clientIp'),
    detail: given('detail'),
  }),
)

/** Inserts an entry in the transaction of the action that it records, so that neither exists without the other. */
export const insertAuditEntry = async (tx: Tx | Database, event: AuditEntry): Promise<void> => {
  await insertEntry.all(tx, { ...event, at: toDate(event.at), detail: JSON.stringify(event.detail) })
}

export interface Head {
  sequence: number
  hash: Uint8Array
}

export interface SealedEntry {
  sequence: number
  previousHash: Uint8Array
  hash: Uint8Array
  content: EntryContent
}

const content = [
  'biz_id as bizId',
  sql<string>`(extract(epoch FROM at) * 1000000)::bigint::text`.as('atMicros'),
  'portal',
  'actor_biz_id as actorId',
  'workspace_biz_id as workspaceId',
  'action',
  'target_biz_id as targetId',
  'outcome',
  'request_id as requestId',
  'client_ip as clientIp',
  'detail',
] as const

/** Reads the end of the chain and locks it, so that one replica at a time extends the chain. */
export const lockHead = (tx: Tx): Promise<Head> =>
  tx.selectFrom('audit_chain').select(['sequence', 'hash']).forUpdate().executeTakeFirstOrThrow()

/** Reads the end of the chain. Undefined if the row was removed. */
export const readHead = (database: Database): Promise<Head | undefined> =>
  database.selectFrom('audit_chain').select(['sequence', 'hash']).executeTakeFirst()

const firstSealed = (database: Database) =>
  database
    .selectFrom('audit_log')
    .select([sql<number>`sequence`.as('sequence'), 'biz_id as bizId'])
    .orderBy('sequence')
    .limit(1)

/**
 * The first sealed entry outside the chain: before its beginning or after its head, read in one statement, because sealing
 * changes both together. Two index scans: a condition with OR would read the whole chain.
 */
export const unlinkedEntry = (database: Database): Promise<{ sequence: number; bizId: string } | undefined> => {
  const before = firstSealed(database).where('sequence', '<', 1)
  const behind = firstSealed(database).where('sequence', '>', (head) =>
    head.selectFrom('audit_chain').select('sequence'),
  )
  return database
    .selectFrom(before.as('before'))
    .selectAll()
    .unionAll(database.selectFrom(behind.as('behind')).selectAll())
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
}

/** Committed entries that are not sealed yet, oldest first. */
export const unsealedEntries = (tx: Tx, limit: number): Promise<EntryContent[]> =>
  tx
    .selectFrom('audit_log')
    .select(content)
    .where('sequence', 'is', null)
    .orderBy('at')
    .orderBy('biz_id')
    .limit(limit)
    .execute()

export interface Seal {
  bizId: string
  sequence: number
  previousHash: Uint8Array
  hash: Uint8Array
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Sets the sealing columns of a batch of entries, and moves the head to the last of them, in two statements. */
export const writeSeals = async (tx: Tx, seals: readonly Seal[], head: Head): Promise<void> => {
  const rows = seals.map((seal) => ({
    id: seal.bizId,
    sequence: seal.sequence,
    previous: hex(seal.previousHash),
    hash: hex(seal.hash),
  }))
  await sql`
    UPDATE audit_log SET sequence = s.sequence, previous_hash = decode(s.previous, 'hex'), hash = decode(s.hash, 'hex')
      FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS s (id uuid, sequence bigint, previous text, hash text)
     WHERE audit_log.biz_id = s.id`.execute(tx)
  await tx
    .updateTable('audit_chain')
    .set({ sequence: head.sequence, hash: Buffer.from(head.hash) })
    .execute()
}

/** Sealed entries after a sequence number, in order. */
export const sealedEntries = async (database: Database, after: number, limit: number): Promise<SealedEntry[]> => {
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
