/**
 * Withdrawals: payouts from a wallet to a verified withdrawal channel. Creating a withdrawal holds the funds; operators
 * approve and complete it. Start reading in `contract.ts` and `service.ts`. `order.ts` maps a withdrawal to an order of
 * the ledger.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { withdrawalHandlers } from './handlers.ts'
import { type PayoutSettings, PayoutTariffs } from './rules.ts'
import type { WithdrawalsPorts } from './service.ts'

export type WithdrawalsOptions = Omit<WithdrawalsPorts, 'payouts'> & {
  words: Words
  payouts: readonly PayoutSettings[]
}

/** Builds the domain. Throws a RangeError for an invalid amount in the settings. */
export const createWithdrawals = ({ payouts, words, ...ports }: WithdrawalsOptions): { handlers: HandlerTable } => ({
  handlers: withdrawalHandlers({ ...ports, payouts: new PayoutTariffs(payouts) }, words),
})

export default domain({
  name: 'withdrawals',
  ...declaredBy(contract),
  uses: ['wallets', 'withdrawalChannels'],
  create: ({ ledger, words, use, configuration }) => {
    const { channelOf } = use('withdrawalChannels')
    return createWithdrawals({ ledger, words, channelOf, payouts: configuration.money.withdrawal.payouts })
  },
})
