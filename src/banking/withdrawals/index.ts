/**
 * Withdrawals: payouts from a wallet to a verified withdrawal channel. Creating a withdrawal holds the funds; operators
 * approve and complete it. Start reading in `contract.ts` and `handlers.ts`.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable } from '../../kernel/index.ts'
import { orderEvents } from '../../ledger/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import * as contract from './contract.ts'
import { createHandlers, type WithdrawalsPorts } from './handlers.ts'
import {
  checkWithdrawalSettings,
  defaultPayouts,
  type PayoutSettings,
  PayoutTariffs,
  withdrawalSettings,
} from './rules.ts'
import { toWithdrawalView } from './view.ts'

export type WithdrawalsOptions = Omit<WithdrawalsPorts, 'payouts'> & {
  payouts: readonly PayoutSettings[]
}

/** Throws a RangeError for an invalid amount in the settings. */
export function createWithdrawals({ payouts, ...ports }: WithdrawalsOptions): {
  handlers: HandlerTable
  events: EventMapper[]
} {
  return {
    events: [orderEvents(contract.withdrawals, ports.words, toWithdrawalView)],
    handlers: createHandlers({ ...ports, payouts: new PayoutTariffs(payouts) }),
  }
}

const ownerNotices = [
  'WITHDRAWAL_REQUESTED',
  'WITHDRAWAL_APPROVED',
  'WITHDRAWAL_COMPLETED',
  'WITHDRAWAL_RETURNED',
] as const

declare module '../../api/notices.ts' {
  interface NoticesByDomain {
    withdrawals: typeof ownerNotices
  }
}

export default domain({
  name: 'withdrawals',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  ownerNotices,
  settings: withdrawalSettings,
  settingsKey: 'money.withdrawal',
  defaults: { payouts: defaultPayouts },
  checkSettings: checkWithdrawalSettings,
  uses: ['members', 'wallets', 'withdrawalChannels'],
  needs: ['database', 'ledger', 'transaction', 'words'],
  create: ({ database, transaction, ledger, words, use, settings }) => {
    const { memberships, notices } = use('members')
    return createWithdrawals({
      database,
      transaction,
      ledger,
      words,
      notices,
      channelOf: use('withdrawalChannels').channelOf,
      assertNotHeld: (member, at) => memberships.assertNotHeld(database, member, ['withdrawal:create'], at),
      payouts: settings.payouts,
    })
  },
})
