import { z } from 'zod'
import {
  formatMoney,
  invalid,
  type Money,
  money,
  subtract,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type Charge,
  chargeParties,
  dailyLimits,
  feeEntries,
  type Opening,
  type Order,
  type Party,
  type Usage,
} from '../../ledger/index.ts'
import { canonicalReference } from '../../platform/identifiers/index.ts'
import { type Channels, isAbove, type Receipt, type RechargeTerms } from './rules.ts'

/* Maps a recharge to an order of the ledger. */

/** Amounts are strings of minor units. */
const storedData = z.object({
  channelCode: z.string(),
  proofRequired: z.enum(['yes', 'no']).transform((word) => word === 'yes'),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  receivedAmount: z.string().transform(BigInt).optional(),
  receivedFeeAmount: z.string().transform(BigInt).optional(),
  /** For exports. */
  receivedNetAmount: z.string().optional(),
  expiresAt: z.string(),
  proofFileBizId: z.string().nullable(),
  /** Hex. The database compares it with the proofs of other recharges. */
  proofSha256: z.string().nullable(),
  externalReference: z.string().nullable(),
  /** In its canonical form. The database compares it with the references of other recharges. */
  referenceKey: z.string().nullable().optional(),
  cancelReason: z.string().nullable(),
  rejectReason: z.string().nullable(),
})

export interface Recharge {
  wallet: WalletId
  /** The announced payment. */
  amount: Money
  /** The payment that arrived. Null if it is the announced one, or has not arrived. */
  received: Money | null
  fee: Money
  /** The payment minus the fee, which is credited to the wallet. */
  net: Money
  /** Whether the channel required a proof at creation. */
  proofRequired: boolean
  details: {
    channelCode: string
    expiresAt: string
    proofFileBizId: string | null
    externalReference: string | null
    cancelReason: string | null
    rejectReason: string | null
  }
}

/** Throws if the order is not a recharge. */
export function toRecharge({ bizId, targetWalletBizId: wallet, data }: Order): Recharge {
  if (wallet === null) throw new TypeError(`recharge ${bizId} lacks its wallet`)
  const stored = storedData.parse(data)
  const {
    amount: minor,
    currency,
    feeAmount,
    receivedAmount,
    receivedFeeAmount,
    receivedNetAmount: _,
    ...rest
  } = stored
  const { proofRequired, proofSha256: __, referenceKey: ___, ...details } = rest
  const amount = money(minor, currency)
  const received = receivedAmount === undefined ? null : money(receivedAmount, currency)
  const fee = money(receivedFeeAmount ?? feeAmount, currency)
  return { wallet, amount, received, fee, net: subtract(received ?? amount, fee), proofRequired, details }
}

/** Orders with this name count towards the daily limit of the channel. */
export function usageOf(channelCode: string): string {
  return `RECHARGE ${channelCode}`
}

/** Posts nothing until an operator confirms the payment. */
export function newRecharge(
  { amount, fee, wallet, channel: { settings, tariff } }: RechargeTerms,
  workspace: WorkspaceId,
  expiresAt: string,
): Opening {
  return {
    parties: [creditedWallet(wallet, amount.currency, workspace)],
    order: {
      data: {
        channelCode: settings.channelCode,
        proofRequired: settings.proofRequired ? 'yes' : 'no',
        amount: amount.minor.toString(),
        currency: amount.currency,
        feeAmount: fee.minor.toString(),
        expiresAt,
        proofFileBizId: null,
        proofSha256: null,
        externalReference: null,
        cancelReason: null,
        rejectReason: null,
      },
      usage: dailyLimits(tariff, { usageOf: usageOf(settings.channelCode), amount }),
    },
  }
}

export function confirmedPostings(order: Order, { amount, net, fee }: Charge) {
  const { wallet } = toRecharge(order)
  return {
    parties: [creditedWallet(wallet, amount.currency, order.workspaceBizId), ...chargeParties({ amount, fee })],
    entries: [
      { account: 'clearing', amount: -net.minor, flowType: 'RECHARGE' as const },
      { account: 'target', amount: net.minor, flowType: 'RECHARGE' as const },
      ...feeEntries('clearing', fee),
    ],
  }
}

/** Throws VALIDATION.INVALID_PARAMETER for a reference without letters and digits. */
export function referenceData(externalReference: string) {
  const referenceKey = canonicalReference(externalReference)
  if (referenceKey === '') throw invalid('externalReference', 'no letters or digits', 'invalid_format')
  return { externalReference, referenceKey }
}

export function receivedData({ charge: { amount, fee, net }, isAsAnnounced }: Receipt) {
  return isAsAnnounced
    ? {}
    : {
        receivedAmount: amount.minor.toString(),
        receivedFeeAmount: fee.minor.toString(),
        receivedNetAmount: net.minor.toString(),
      }
}

/**
 * The money has arrived, so an announced amount counts towards the daily limits without being refused by them. A larger one
 * is refused: otherwise, small recharges would let one operator credit more in a day than the limits allow.
 */
export function receivedUsage(channels: Channels, order: Order, { amount }: Charge): Usage[] {
  const recharge = toRecharge(order)
  const channel = channels.get(recharge.details.channelCode)
  if (channel?.settings.currency !== amount.currency) return []
  const used = dailyLimits(channel.tariff, { usageOf: usageOf(channel.settings.channelCode), amount })
  if (!isAbove(amount, recharge)) return used.map((each) => ({ ...each, max: null }))
  // The announced amount is replaced, but still counts while the sum is checked. The expiry has returned it.
  const own = order.status === 'EXPIRED' ? 0n : recharge.amount.minor
  return used.map((each) => ({ ...each, max: each.max === null ? null : each.max + own }))
}

/** Names both amounts if they differ. */
export function aboutReceived(order: Order): string {
  const { amount, received } = toRecharge(order)
  return [amount, ...(received ? [received] : [])].map((each) => `${formatMoney(each)} ${each.currency}`).join(' → ')
}

function creditedWallet(wallet: WalletId, currency: string, workspace: WorkspaceId): Party {
  return {
    label: 'target',
    wallet,
    workspace,
    currency,
    active: true,
    currencyField: 'walletBizId',
  }
}
