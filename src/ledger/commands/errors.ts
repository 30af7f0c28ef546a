import { z } from 'zod'
import { sqlState } from '../../database/index.ts'
import { invalid, Refusal } from '../../kernel/index.ts'
import type { Party } from './command.ts'

/** The result of `ledger_execute` and of the idempotency functions, see schema/execute.ts. */
export const commandOutcome = z.object({
  outcome: z.enum([
    'DONE',
    'REPLAY',
    'IN_PROGRESS',
    'ID_REUSED',
    'NOT_FOUND',
    'CURRENCY_MISMATCH',
    'NOT_ACTIVE',
    'INSUFFICIENT_FUNDS',
    'CONFLICT',
    'OWN_ORDER',
  ]),
  /** Index of the party that caused the outcome. */
  account: z.int().optional(),
  answer: z.unknown().optional(),
})
export type CommandOutcome = z.output<typeof commandOutcome>

const insufficientFunds = (party: Party | undefined): Refusal =>
  new Refusal(party && 'house' in party ? party.short : 'WALLET.INSUFFICIENT_FUNDS', {
    internal: `not enough on ${party?.label}`,
  })

const unknownParty = (party: Party | undefined): Error =>
  party && 'house' in party
    ? new Error(`the house has no ${party.house} account in ${party.currency}`)
    : new Refusal('RESOURCE.NOT_FOUND', { internal: `no ${party?.label ?? 'such order'} within reach` })

/** The refusal of a decision on something that the same person created. */
export const ownDecision = (): Refusal =>
  new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'four-eyes rule: the same person' })

/** SQLSTATE of the trigger in schema/daily-usage.ts, which also counts concurrent orders. */
const dailyLimit = 'PL001'

/** Throws WALLET.LIMIT_EXCEEDED for the daily limit, and any other store error unchanged. */
export const throwStoreError = (error: unknown): never => {
  if (sqlState(error) !== dailyLimit) throw error
  throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'the daily limit', cause: error })
}

/** The stored result of a command that is done, now or by an earlier attempt. Throws a Refusal for any other outcome. */
export const unwrapOutcome = (outcome: CommandOutcome, parties: readonly Party[]): unknown => {
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
      throw ownDecision()
    case 'NOT_FOUND':
      throw unknownParty(party)
    case 'CURRENCY_MISMATCH':
      throw invalid(
        party && 'wallet' in party ? party.currencyField : 'currency',
        `${party?.label} has another currency`,
      )
    case 'NOT_ACTIVE':
      throw new Refusal('WALLET.NOT_ACTIVE', { internal: `${party?.label} is not active` })
    case 'INSUFFICIENT_FUNDS':
      throw insufficientFunds(party)
  }
}
