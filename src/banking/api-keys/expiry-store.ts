import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, addMs, days, type Instant, type Portal, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { OperatorKeyId } from './operator-keys/store.ts'
import { type WarningDays, warningDays } from './rules.ts'
import type { ApiKeyScope } from './store.ts'

const [last, middle, first] = warningDays

export interface Expiry {
  at: Instant
  /** The maximum lifetime, which may end a key before its expiry. */
  maxLifeMs: number | null
}

/** Up to `limit` keys whose creators or owners must be warned. */
export function listKeysToWarnOf(database: Database, expiry: Expiry, limit: number) {
  return database
    .selectFrom('api_keys')
    .select(['workspaceBizId', 'bizId', 'createdBy'])
    .where(needsWarning(expiry))
    .orderBy('bizId')
    .limit(limit)
    .execute()
}

export function listOperatorKeysToWarnOf(database: Database, expiry: Expiry): Promise<{ bizId: OperatorKeyId }[]> {
  return database.selectFrom('operator_api_keys').select('bizId').where(needsWarning(expiry)).orderBy('bizId').execute()
}

/** As `claimWarning`. */
export async function claimOperatorWarning(tx: Tx, id: OperatorKeyId, expiry: Expiry): Promise<boolean> {
  const claimed = await tx
    .updateTable('operator_api_keys')
    .set({ warnedDays: stageOf(expiry) })
    .where('bizId', '=', id)
    .where(needsWarning(expiry))
    .returning('bizId')
    .executeTakeFirst()
  return claimed !== undefined
}

/** Marks a key as warned of. Returns false if another replica was faster, or if the key has changed. */
export async function claimWarning(tx: Tx, { workspaceBizId, bizId }: ApiKeyScope, expiry: Expiry): Promise<boolean> {
  const claimed = await tx
    .updateTable('api_keys')
    .set({ warnedDays: stageOf(expiry) })
    .where('workspaceBizId', '=', workspaceBizId)
    .where('bizId', '=', bizId)
    .where(needsWarning(expiry))
    .returning('bizId')
    .executeTakeFirst()
  return claimed !== undefined
}

/** Returns the number of active keys that end within each number of days. */
export async function countExpiringKeys(
  database: Database,
  table: 'api_keys' | 'operator_api_keys',
  expiry: Expiry,
): Promise<Map<WarningDays, number>> {
  const within = (number: WarningDays) => sql<number>`count(*) FILTER (WHERE ${endsWithin(expiry, number)})`
  const counts = await database
    .selectFrom(table)
    .select([within(last).as('last'), within(middle).as('middle'), within(first).as('first')])
    .where('apiKeyStatus', '=', 'ACTIVE')
    .where(endsWithin(expiry, first))
    .executeTakeFirstOrThrow()
  return new Map([
    [last, Number(counts.last)],
    [middle, Number(counts.middle)],
    [first, Number(counts.first)],
  ])
}

export function workspaceOf(database: Database | Tx, id: WorkspaceId): Promise<{ name: string; portal: Portal }> {
  const workspace = database.selectFrom('workspaces').select(['workspaceName as name', 'portal'])
  return workspace.where('bizId', '=', id).executeTakeFirstOrThrow()
}

/** Whether the account is a member of the workspace whose membership is not suspended. */
export async function isActiveMember(database: Database, id: AccountId, workspace: WorkspaceId): Promise<boolean> {
  const membership = database
    .selectFrom('memberships')
    .select('accountBizId')
    .where('workspaceBizId', '=', workspace)
    .where('accountBizId', '=', id)
    .where('suspendedAt', 'is', null)
  return (await membership.executeTakeFirst()) !== undefined
}

/** A key that was created with less time to live than a stage gets no warning of it. */
function needsWarning(expiry: Expiry): RawBuilder<SqlBool> {
  const stage = stageOf(expiry)
  return sql<SqlBool>`(api_key_status = 'ACTIVE' AND ${endsWithin(expiry, first)}
    AND created_at < ${endOf(expiry)} - ${stage} * interval '24 hours'
    AND (warned_days IS NULL OR warned_days > ${stage} OR ${hasMoved(expiry)}))`
}

/** Whether the key ends later than announced: the maximum lifetime was extended. The day exceeds any clock skew. */
function hasMoved(expiry: Expiry): RawBuilder<SqlBool> {
  return sql<SqlBool>`${endOf(expiry)} - (warned_days + 1) * interval '24 hours' > ${timestamptz(expiry.at)}`
}

function stageOf(expiry: Expiry): RawBuilder<WarningDays> {
  return sql<WarningDays>`CASE WHEN ${endsWithin(expiry, last)} THEN ${sql.lit(last)}
    WHEN ${endsWithin(expiry, middle)} THEN ${sql.lit(middle)} ELSE ${sql.lit(first)} END`
}

/** Names plain columns, too, so that the indexes of both apply. */
function endsWithin(expiry: Expiry, number: WarningDays): RawBuilder<SqlBool> {
  const { at, maxLifeMs } = expiry
  const until = addMs(at, days(number))
  const expires = sql`(expires_at > ${timestamptz(at)} AND expires_at <= ${timestamptz(until)})`
  if (maxLifeMs === null) return sql<SqlBool>`${expires}`
  const [oldest, newest] = [toDate(addMs(at, -maxLifeMs)), toDate(addMs(until, -maxLifeMs))]
  return sql<SqlBool>`((${expires} OR (created_at > ${oldest}::timestamptz AND created_at <= ${newest}::timestamptz))
    AND ${endOf(expiry)} > ${timestamptz(at)} AND ${endOf(expiry)} <= ${timestamptz(until)})`
}

/** `endOfLife` in SQL. */
function endOf({ maxLifeMs }: Expiry): RawBuilder<Instant> {
  if (maxLifeMs === null) return sql<Instant>`expires_at`
  return sql<Instant>`least(expires_at, created_at + ${maxLifeMs}::float8 * interval '1 millisecond')`
}
