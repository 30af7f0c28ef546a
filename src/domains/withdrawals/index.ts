import type { HandlerTable, Words } from '../../kernel/index.ts'
import { withdrawalHandlers } from './handlers.ts'
import { type PayoutTerms, payoutsOf } from './rules.ts'
import type { WithdrawalsPorts } from './service.ts'

export type WithdrawalsOptions = Omit<WithdrawalsPorts, 'payouts'> & {
  words: Words
  payouts: readonly PayoutTerms[]
}

export const createWithdrawals = ({ payouts, words, ...ports }: WithdrawalsOptions): { handlers: HandlerTable } => ({
  handlers: withdrawalHandlers({ ...ports, payouts: payoutsOf(payouts) }, words),
})
