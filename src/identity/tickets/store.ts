import { type Database, type Tx, timestamptz, validAt } from '../../database/index.ts'
import { type Instant, type Locale, toDate, type WorkspaceId } from '../../kernel/index.ts'
import type { OwnSession } from '../sessions/rules.ts'

/** What a ticket opens. */
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

export async function countTickets(tx: Tx, { portal, sessionId }: OwnSession, now: Instant): Promise<number> {
  const { tickets } = await tx
    .selectFrom('session_tickets')
    .select(({ fn }) => fn.countAll<string>().as('tickets'))
    .where('portal', '=', portal)
    .where('sessionBizId', '=', sessionId)
    .where('expiresAt', '>', timestamptz(now))
    .executeTakeFirstOrThrow()
  return Number(tickets)
}

export async function insertTicket(
  tx: Tx,
  { portal, accountId, sessionId }: OwnSession,
  { digest, operationId, path, workspaceId, locale, expiresAt }: Ticket,
  now: Instant,
): Promise<void> {
  const owner = { portal, sessionBizId: sessionId, accountBizId: accountId }
  const opened = { operationId, path, workspaceBizId: workspaceId, locale }
  const times = { createdAt: toDate(now), expiresAt: toDate(expiresAt) }
  await tx
    .insertInto('session_tickets')
    .values({ ticketDigest: digest, ...owner, ...opened, ...times })
    .execute()
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
