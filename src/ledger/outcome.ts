import { sqlState } from '../database/index.ts'
import { invalid, Refusal } from '../kernel/index.ts'
import type { Party } from './command.ts'
import type { Outcome } from './execute-store.ts'

const shortOf = (party: Party | undefined): Refusal =>
  new Refusal(party && 'house' in party ? party.short : 'WALLET.INSUFFICIENT_FUNDS', {
    internal: `not enough on ${party?.label}`,
  })

const unknown = (party: Party | undefined): Error =>
  party && 'house' in party
    ? new Error(`the house has no ${party.house} account in ${party.currency}`)
    : new Refusal('RESOURCE.NOT_FOUND', { internal: `no ${party?.label ?? 'such order'} within reach` })

/** SQLSTATE of the trigger in schema/daily-usage.ts, which also counts concurrent orders. */
const dailyLimit = 'PL001'

/** What the store itself refuses, as the caller is told of it; all else is thrown on. */
export const refuse = (error: unknown): never => {
  if (sqlState(error) !== dailyLimit) throw error
  throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'the daily limit', cause: error })
}

/** The answer of a command that went through, now or before; anything else is thrown as what the caller is told. */
export const answerOf = (outcome: Outcome, parties: readonly Party[]): unknown => {
  const party = outcome.account === undefined ? undefined : parties[outcome.account]
  switch (outcome.outcome) {
    case 'DONE':
    case 'REPLAY':
      return outcome.answer
    case 'IN_PROGRESS':
      throw new Refusal('REQUEST.IN_PROGRESS', { retryAfter: 1 })
    case 'ID_REUSED':
      throw new Refusal('REQUEST.ID_REUSED')
    case 'CONFLICT':
      throw new Refusal('STATE.CONFLICT', { internal: 'the order is in another status' })
    case 'OWN_ORDER':
      throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'nobody decides over their own order' })
    case 'NOT_FOUND':
      throw unknown(party)
    case 'CURRENCY_MISMATCH':
      throw invalid(
        party && 'wallet' in party ? party.currencyField : 'currency',
        `${party?.label} has another currency`,
      )
    case 'NOT_ACTIVE':
      throw new Refusal('WALLET.NOT_ACTIVE', { internal: `${party?.label} is not active` })
    case 'INSUFFICIENT_FUNDS':
      throw shortOf(party)
  }
}
