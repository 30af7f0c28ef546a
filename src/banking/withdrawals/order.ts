import { z } from 'zod'
import { type Money, money, subtract, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import {
  type CommandContext,
  chargeParties,
  dailyLimits,
  feeEntries,
  type Opening,
  type Order,
  type WalletParty,
} from '../../ledger/index.ts'
import type { WithdrawalTerms } from './rules.ts'

/* Maps a withdrawal to an order of the ledger. */

/** Amounts are strings of minor units. */
const storedData = z.object({
  withdrawalChannelBizId: z.string(),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  remark: z.string().nullable(),
  failureReason: z.string().nullable(),
  externalReference: z.string().nullable(),
})

export interface Withdrawal {
  wallet: WalletId
  withdrawalChannelBizId: string
  /** The debited amount, including the fee. */
  amount: Money
  fee: Money
  /** Amount minus fee, which is paid out. */
  net: Money
  remark: string | null
  failureReason: string | null
  externalReference: string | null
}

/** Throws if the order is not a withdrawal. */
export function toWithdrawal({ bizId, sourceWalletBizId: wallet, data }: Order): Withdrawal {
  if (wallet === null) throw new TypeError(`withdrawal ${bizId} lacks its wallet`)
  const { amount: minor, feeAmount, currency, ...notes } = storedData.parse(data)
  const [amount, fee] = [money(minor, currency), money(feeAmount, currency)]
  return { ...notes, wallet, amount, fee, net: subtract(amount, fee) }
}

/** Holds the amount. Nothing is posted until the payout is completed. */
export function newWithdrawal(terms: WithdrawalTerms, context: CommandContext<WorkspaceId>): Opening {
  return {
    parties: [debitedWallet(terms.wallet, terms.amount.currency, context.workspace)],
    holds: [{ account: 'source', amount: terms.amount.minor }],
    order: {
      data: {
        withdrawalChannelBizId: terms.channel,
        amount: terms.amount.minor.toString(),
        currency: terms.amount.currency,
        feeAmount: terms.fee.minor.toString(),
        remark: terms.remark,
        failureReason: null,
        externalReference: null,
      },
      usage: dailyLimits(terms.tariff, {
        usageOf: `WITHDRAWAL ${terms.channelType}`,
        amount: terms.amount,
        externalAccount: terms.accountDigest,
      }),
      outgoing: { amount: terms.amount, by: context },
    },
  }
}

/** The wallet of an approval, which must be active. */
export function debitedParty(order: Order): WalletParty {
  const { wallet, amount } = toWithdrawal(order)
  return debitedWallet(wallet, amount.currency, order.workspaceBizId)
}

/** The wallet may be frozen, because the funds are already held. */
export function payoutPostings(order: Order) {
  const withdrawal = toWithdrawal(order)
  const { net, fee } = withdrawal
  return {
    parties: [{ ...debitedParty(order), active: false }, ...chargeParties(withdrawal)],
    entries: [
      { account: 'source', amount: -net.minor, flowType: 'WITHDRAWAL' as const },
      { account: 'clearing', amount: net.minor, flowType: 'WITHDRAWAL' as const },
      ...feeEntries('source', fee),
    ],
  }
}

/** The opposite of `payoutPostings`: the wallet gets the amount and the fee back. */
export function returnedPostings(order: Order) {
  const { parties, entries } = payoutPostings(order)
  return { parties, entries: entries.map((entry) => ({ ...entry, amount: -entry.amount })) }
}

function debitedWallet(wallet: WalletId, currency: string, workspace: WorkspaceId): WalletParty {
  return {
    label: 'source',
    wallet,
    workspace,
    currency,
    active: true,
    currencyField: 'walletBizId',
  }
}
