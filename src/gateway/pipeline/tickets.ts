import { takesTicket, ticketParameter } from '../../contract/policies.ts'
import { Refusal } from '../../kernel/index.ts'
import type { Call } from './call.ts'

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

/** The path that the ticket must open. */
export function pathOf({ path, query }: Pick<Call, 'path' | 'query'>): string {
  return query === '' ? path : `${path}?${query}`
}

function ticketInvalid(internal: string): Refusal {
  return new Refusal('ACCESS.TICKET_INVALID', { internal })
}
