import type { Link } from '../../contract/fields.ts'
import { takesTicket, ticketParameter } from '../../contract/policies.ts'
import { commitWith, inTransaction } from '../../database/index.ts'
import type { SpentTicket, TicketUse } from '../../gateway/pipeline/ports.ts'
import {
  addMs,
  type Caller,
  type Locale,
  type Operation,
  pathOn,
  portalOfChain,
  Refusal,
  rateLimited,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { lockCookie } from '../sessions/cookie-store.ts'
import { assertSession } from '../sessions/rules.ts'
import { mintToken } from '../tokens/rules.ts'
import { insertTicket, spendTicket, type Ticket } from './store.ts'

/** The browser opens a link, an image or a stream right after the page has asked for its URL. */
const lifetimeMs = 60_000

/** A caller could otherwise fill the table. The largest page of a list has 100 rows, each of which can have an image. */
const maxUnused = 100

export type OpenedByTicket = Omit<Ticket, 'digest' | 'expiresAt'>

type TicketPorts = Pick<IdentityPorts, 'clock' | 'database' | 'digest' | 'randomness' | 'chainsOf'>

/**
 * Returns a URL that opens the path once, with the session cookie and no other header. Throws ACCESS.COOKIE_INVALID for a
 * session that has tokens and for an API key, and ACCESS.RATE_LIMITED if the session has too many unused tickets.
 */
export async function createTicket(
  { clock, database, digest, randomness }: TicketPorts,
  caller: Caller,
  opened: OpenedByTicket,
): Promise<Link> {
  if (caller.sessionId === null) throw withoutCookie('an API key has no cookie')
  const session = assertSession(caller)
  const value = mintToken(randomness)
  const now = clock.now()
  const ticket = { ...opened, digest: digest('session-ticket', value), expiresAt: addMs(now, lifetimeMs) }
  const isInserted = await inTransaction(database, async (tx) => {
    if (!(await lockCookie(tx, session))) throw withoutCookie('the session has tokens, or has just ended')
    return commitWith([insertTicket(session, ticket, maxUnused, now)], ([inserted]) => inserted)
  })
  if (!isInserted) throw rateLimited(lifetimeMs, `${maxUnused} unused tickets`)
  const separator = opened.path.includes('?') ? '&' : '?'
  return { url: `${opened.path}${separator}${ticketParameter}=${value}`, expiresIn: lifetimeMs / 1_000 }
}

export interface LinkRequest {
  caller: Caller
  workspace: Pick<WorkspaceAccess, 'id'> | null
  locale: Locale
}

/** `createTicket` for an operation of the caller's portal. */
export function createLink(
  ports: TicketPorts,
  { caller, workspace, locale }: LinkRequest,
  operation: Operation,
  params: Readonly<Record<string, string>>,
): Promise<Link> {
  const chain = ports
    .chainsOf(operation, caller.portal)
    .find((each) => takesTicket(operation, each) && portalOfChain(each) === caller.portal)
  if (!chain) throw new TypeError(`${operation.id}: no GET operation for a link`)
  const path = pathOn(chain, operation).replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? ''))
  return createTicket(ports, caller, { operationId: operation.id, path, workspaceId: workspace?.id ?? null, locale })
}

/** Throws ACCESS.TICKET_INVALID, which does not reveal the reason. */
export async function useTicket(
  { clock, database, digest }: TicketPorts,
  { caller, value, ...target }: TicketUse,
): Promise<SpentTicket> {
  const digests = digest.candidates('session-ticket', value)
  const spent = await spendTicket(database, assertSession(caller), digests, target, clock.now())
  if (!spent) throw new Refusal('ACCESS.TICKET_INVALID', { internal: 'no such ticket of the session for this path' })
  return spent
}

function withoutCookie(internal: string): Refusal {
  return new Refusal('ACCESS.COOKIE_INVALID', { internal })
}
