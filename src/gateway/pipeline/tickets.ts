import { takesTicket, ticketParameter } from '../../contract/policies.ts'
import { Refusal } from '../../kernel/index.ts'
import type { Call } from './call.ts'
import type { SpentTicket } from './ports.ts'

/** A ticket takes the place of the headers that a link, an image and EventSource cannot send. */
export interface Ticket {
  value: string
  /** Null until the `authenticate` stage has spent it. */
  spent: SpentTicket | null
}

/** 256 bits in base64url. */
const valuePattern = /^[A-Za-z0-9_-]{43}$/

const prefix = `${ticketParameter}=`

/**
 * Moves a ticket from the query to the call, so that no later stage and no service sees it. Throws ACCESS.TICKET_INVALID. HEAD
 * is refused, because it must not spend the ticket of the GET that follows.
 */
export function takeTicket(call: Call): void {
  if (!call.query.includes(prefix) || call.below || !takesTicket(call.operation, call.chain)) return
  const parameters = call.query.split('&')
  const at = parameters.findIndex((each) => each.startsWith(prefix))
  if (at < 0) return
  const value = parameters[at]?.slice(prefix.length) ?? ''
  call.ticket = { value, spent: null }
  call.query = parameters.toSpliced(at, 1).join('&')
  if (call.method !== 'GET') throw ticketInvalid('HEAD does not spend a ticket')
  if (call.headers.has('authorization')) throw ticketInvalid('a ticket and a token')
  if (!valuePattern.test(value)) throw ticketInvalid('a malformed ticket')
}

/** What the ticket must have been created for. */
export function pathOf({ path, query }: Pick<Call, 'path' | 'query'>): string {
  return query === '' ? path : `${path}?${query}`
}

function ticketInvalid(internal: string): Refusal {
  return new Refusal('ACCESS.TICKET_INVALID', { internal })
}
