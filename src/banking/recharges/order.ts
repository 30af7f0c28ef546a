import { z } from 'zod'
import { type Money, money, subtract, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import { chargeParties, dailyLimits, feeEntries, type Opening, type Order, type Party } from '../../ledger/index.ts'
import type { RechargeTerms } from './rules.ts'

/* Maps a recharge to an order of the ledger. */

/** Amounts are strings of minor units. */
const storedData = z.object({
  channelCode: z.string(),
  proofRequired: z.enum(['yes', 'no']).transform((word) => word === 'yes'),
  amount: z.string().transform(BigInt),
  currency: z.string(),
  feeAmount: z.string().transform(BigInt),
  expiresAt: z.string(),
  proofFileBizId: z.string().nullable(),
  /** Hex. The database compares it with the proofs of other recharges. */
  proofSha256: z.string().nullable(),
  externalReference: z.string().nullable(),
  cancelReason: z.string().nullable(),
  rejectReason: z.string().nullable(),
})

export interface Recharge {
  wallet: WalletId
  /** The incoming payment. */
  amount: Money
  fee: Money
  /** Amount minus fee, which is credited to the wallet. */
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
  const { amount: minor, feeAmount, currency, proofRequired, proofSha256: _, ...details } = storedData.parse(data)
  const [amount, fee] = [money(minor, currency), money(feeAmount, currency)]
  return { wallet, amount, fee, net: subtract(amount, fee), proofRequired, details }
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

export function confirmedPostings(order: Order) {
  const recharge = toRecharge(order)
  const { wallet, amount, net, fee } = recharge
  return {
    parties: [creditedWallet(wallet, amount.currency, order.workspaceBizId), ...chargeParties(recharge)],
    entries: [
      { account: 'clearing', amount: -net.minor, flowType: 'RECHARGE' as const },
      { account: 'target', amount: net.minor, flowType: 'RECHARGE' as const },
      ...feeEntries('clearing', fee),
    ],
  }
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
