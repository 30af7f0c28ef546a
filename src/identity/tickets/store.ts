import { sql } from 'kysely'
import { type Database, rawQuery, type Statements, timestamptz, validAt } from '../../database/index.ts'
import type { Instant, Locale, WorkspaceId } from '../../kernel/index.ts'
import type { OwnSession } from '../sessions/rules.ts'

/** The request that a ticket opens. */
export interface TicketTarget {
  operationId: string
  /** With the query. */
  path: string
}

export interface Ticket extends TicketTarget {
  digest: Uint8Array
  workspaceId: WorkspaceId | null
  locale: Locale
  expiresAt: Instant
}

/**
 * Returns whether the session had fewer unused tickets than the maximum. The caller must have locked its row, so that the
 * count is exact.
 */
export function insertTicket(
  { portal, accountId, sessionId }: OwnSession,
  { digest, operationId, path, workspaceId, locale, expiresAt }: Ticket,
  maxUnused: number,
  now: Instant,
): Statements<boolean> {
  return rawQuery(sql`
    INSERT INTO session_tickets (ticket_digest, portal, session_biz_id, account_biz_id, operation_id, path,
        workspace_biz_id, locale, created_at, expires_at)
      SELECT ${digest}::bytea, ${portal}::text, ${sessionId}::uuid, ${accountId}::uuid, ${operationId}::text,
        ${path}::text, ${workspaceId}::uuid, ${locale}::text, ${timestamptz(now)}, ${timestamptz(expiresAt)}
       WHERE (SELECT count(*) FROM session_tickets
               WHERE portal = ${portal} AND session_biz_id = ${sessionId} AND expires_at > ${timestamptz(now)})
             < ${maxUnused}::integer
      RETURNING portal`).hasRow()
}

/** Undefined if the open session has no such ticket. Only one request can spend it. */
export function spendTicket(
  database: Database,
  { portal, accountId, sessionId }: OwnSession,
  digests: readonly Uint8Array[],
  { operationId, path }: TicketTarget,
  now: Instant,
): Promise<Pick<Ticket, 'workspaceId' | 'locale'> | undefined> {
  return database
    .deleteFrom('session_tickets')
    .where('ticketDigest', 'in', digests)
    .where('portal', '=', portal)
    .where('sessionBizId', '=', sessionId)
    .where('accountBizId', '=', accountId)
    .where('operationId', '=', operationId)
    .where('path', '=', path)
    .where(validAt('createdAt', 'expiresAt', now))
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('sessions')
          .select('bizId')
          .where('sessions.portal', '=', portal)
          .where('sessions.bizId', '=', sessionId)
          .where('sessions.endedAt', 'is', null),
      ),
    )
    .returning(['workspaceBizId as workspaceId', 'locale'])
    .executeTakeFirst()
}
