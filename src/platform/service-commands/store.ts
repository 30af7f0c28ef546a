import { type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'

/** A retry has the same key. */
export interface CommandKey {
  account: AccountId
  workspace: WorkspaceId | null
  operation: string
  /** The value of Idempotency-Key, or else X-Request-Id. */
  requestId: string
  bodyHash: string
}

const noWorkspace = '00000000-0000-0000-0000-000000000000'

/**
 * Claims a command that is new, expired, or whose outcome is unknown. Returns the number of the attempt, or undefined if
 * another request has the command.
 */
export async function claim(
  database: Database,
  key: CommandKey,
  at: Instant,
  leaseMs: number,
): Promise<number | undefined> {
  const { account, workspace, operation, requestId, bodyHash } = key
  const { rows } = await sql<{ attempt: number }>`
    INSERT INTO service_commands AS known
    VALUES (${account}::uuid, ${workspace ?? noWorkspace}::uuid, ${operation}, ${requestId}, ${bodyHash}, 1,
            clock_timestamp() + make_interval(secs => ${leaseMs / 1_000}::double precision), NULL,
            greatest(${toDate(at)}::timestamptz, clock_timestamp()))
    ON CONFLICT (account_biz_id, workspace_biz_id, operation, request_id) DO UPDATE SET
      body_hash = excluded.body_hash,
      attempt = CASE WHEN known.created_at <= ${expiry(at)} THEN 1 ELSE known.attempt + 1 END,
      claimed_until = excluded.claimed_until,
      reply = NULL,
      created_at = CASE WHEN known.created_at <= ${expiry(at)} THEN excluded.created_at ELSE known.created_at END
    WHERE known.created_at <= ${expiry(at)}
       OR (known.reply IS NULL AND known.body_hash = excluded.body_hash AND known.claimed_until <= clock_timestamp())
    RETURNING attempt`.execute(database)
  return rows[0]?.attempt
}

export async function find(
  database: Database,
  key: CommandKey,
): Promise<{ bodyHash: string; reply: string | null } | undefined> {
  const { rows } = await sql<{ bodyHash: string; reply: string | null }>`
    SELECT body_hash, reply FROM service_commands WHERE ${isCommand(key)}`.execute(database)
  return rows[0]
}

/** Does nothing if a later attempt has claimed the command. */
export async function storeReply(tx: Tx, key: CommandKey, attempt: number, reply: string): Promise<void> {
  await sql`UPDATE service_commands SET reply = ${reply} WHERE ${isCommand(key)} AND attempt = ${attempt}`.execute(tx)
}

/** Allows another attempt with the same body. */
export async function endClaim(tx: Tx, key: CommandKey, attempt: number): Promise<void> {
  await sql`UPDATE service_commands SET claimed_until = clock_timestamp()
    WHERE ${isCommand(key)} AND attempt = ${attempt}`.execute(tx)
}

/** Allows another attempt with any body. */
export async function deleteClaim(tx: Tx, key: CommandKey, attempt: number): Promise<void> {
  await sql`DELETE FROM service_commands WHERE ${isCommand(key)} AND attempt = ${attempt}`.execute(tx)
}

/** A retry has the same values. */
export type PlacedCommand = Omit<CommandKey, 'bodyHash'>

/** Returns the place of the first request with this key within a day: `place`, if the key is new. */
export async function recordPlace(
  database: Database,
  { account, workspace, operation, requestId }: PlacedCommand,
  place: string,
  at: Instant,
): Promise<string> {
  const { rows } = await sql<{ place: string }>`
    INSERT INTO command_places AS known
    VALUES (${account}::uuid, ${workspace ?? noWorkspace}::uuid, ${operation}, ${requestId}, ${place},
            greatest(${toDate(at)}::timestamptz, clock_timestamp()))
    ON CONFLICT (account_biz_id, workspace_biz_id, operation, request_id) DO UPDATE SET
      place = CASE WHEN known.created_at <= ${expiry(at)} THEN excluded.place ELSE known.place END,
      created_at = CASE WHEN known.created_at <= ${expiry(at)} THEN excluded.created_at ELSE known.created_at END
    RETURNING place`.execute(database)
  const [row] = rows
  if (!row) throw new Error('the place of a command was not recorded')
  return row.place
}

/** Returns the number of deleted places. */
export async function deleteExpiredPlaces(database: Database, at: Instant, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM command_places WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM command_places WHERE created_at <= (SELECT ${expiry(at)})
       ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED))`.execute(database)
  return Number(numAffectedRows)
}

/** Returns the number of deleted commands. */
export async function deleteExpired(database: Database, at: Instant, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM service_commands WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM service_commands WHERE created_at <= (SELECT ${expiry(at)})
       ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED))`.execute(database)
  return Number(numAffectedRows)
}

/** Also expired by the clock of the database, so that a wrong clock sends no command twice. */
function expiry(at: Instant): RawBuilder<Date> {
  return sql<Date>`least(${toDate(at)}::timestamptz, clock_timestamp()) - interval '24 hours'`
}

function isCommand({ account, workspace, operation, requestId }: CommandKey): RawBuilder<boolean> {
  return sql<boolean>`account_biz_id = ${account}::uuid AND workspace_biz_id = ${workspace ?? noWorkspace}::uuid
    AND operation = ${operation} AND request_id = ${requestId}`
}
