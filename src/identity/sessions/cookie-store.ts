import type { NotNull } from 'kysely'
import type { Database, Tx } from '../../database/index.ts'
import { type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import type { OwnSession } from './rules.ts'

/** Finds the open session of a cookie, whose value may have been replaced. */
export async function readSessionIdOfCookie(
  database: Database,
  portal: Portal,
  cookieDigests: readonly Uint8Array[],
): Promise<SessionId | undefined> {
  const current = database
    .selectFrom('sessions')
    .select('bizId')
    .where('portal', '=', portal)
    .where('cookieDigest', 'in', cookieDigests)
  const former = database
    .selectFrom('former_cookies')
    .select('sessionBizId as bizId')
    .where('portal', '=', portal)
    .where('cookieDigest', 'in', cookieDigests)
  return (await current.unionAll(former).executeTakeFirst())?.bizId
}

/** Undefined if the session never had such a cookie, or still has it. */
export async function readReplacedAt(
  database: Database,
  { portal, id }: { portal: Portal; id: SessionId },
  cookieDigests: readonly Uint8Array[],
): Promise<Instant | undefined> {
  const former = await database
    .selectFrom('former_cookies')
    .select('replacedAt')
    .where('portal', '=', portal)
    .where('sessionBizId', '=', id)
    .where('cookieDigest', 'in', cookieDigests)
    .executeTakeFirst()
  return former?.replacedAt
}

/** Returns the current digest, and when the session expires. Undefined if the session has ended or has tokens. */
export async function lockCookie(
  tx: Tx,
  { portal, accountId, sessionId }: OwnSession,
): Promise<{ digest: Uint8Array; expiresAt: Instant } | undefined> {
  return tx
    .selectFrom('sessions')
    .select(['cookieDigest as digest', 'expiresAt'])
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('bizId', '=', sessionId)
    .where('endedAt', 'is', null)
    .where('cookieDigest', 'is not', null)
    .$narrowType<{ digest: NotNull }>()
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** The caller must have locked the session's row. */
export async function replaceCookie(
  tx: Tx,
  { portal, sessionId }: OwnSession,
  { from, to, expiresAt }: { from: Uint8Array; to: Uint8Array; expiresAt: Instant },
  at: Instant,
): Promise<void> {
  const former = { cookieDigest: from, portal, sessionBizId: sessionId }
  await tx
    .insertInto('former_cookies')
    .values({ ...former, replacedAt: toDate(at), expiresAt: toDate(expiresAt) })
    .execute()
  await tx
    .updateTable('sessions')
    .set({ cookieDigest: to })
    .where('portal', '=', portal)
    .where('bizId', '=', sessionId)
    .execute()
}
