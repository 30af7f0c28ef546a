import * as z from 'zod'
import {
  amount,
  bizId,
  coded,
  codeOf,
  currency,
  decimal,
  externalReferenceFilter,
  id,
  memberReason,
  orderFields,
  orNone,
  pastedLine,
  reason,
  statusHistory,
  text,
  timestamp,
} from '../../contract/fields.ts'
import type { LedgerTypes } from '../../contract/ledger/ledger-types.ts'
import { page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { operator } from '../../contract/policies.ts'
import { channelType } from '../../contract/shared-schemas.ts'
import { codedFamily, operation } from '../../kernel/index.ts'
import { orderType } from '../../ledger/order-types/contract.ts'

export const summary = 'Incoming payments and their proofs. Operators confirm or reject them.'

export const permissions = {
  workspace: { recharge: { sortOrder: 900, actions: ['read', 'create'] } },
  operator: { recharge: { sortOrder: 500, actions: ['read', 'approve'], powers: ['approve'] } },
} as const satisfies Permissions

export const rechargeStatus = codedFamily('rechargeStatus', {
  PENDING_PAYMENT: 10090801,
  PROOF_SUBMITTED: 10090802,
  COMPLETED: 10090803,
  REJECTED: 10090804,
  CANCELLED: 10090805,
  EXPIRED: 10090806,
})

/** The amount is in the wallet's currency. The service checks its decimal places. */
const RechargeRequest = z.strictObject({ walletBizId: id, channelCode: text(64), amount })

/** `netAmount` is the amount that is credited to the wallet: the amount minus the fee. */
const figures = {
  walletBizId: bizId,
  channelCode: z.string(),
  amount: decimal,
  currency: z.string(),
  feeAmount: decimal,
  netAmount: decimal,
}

const RechargeOrder = z.object({
  ...orderFields,
  workspaceBizId: bizId,
  ...figures,
  receivedAmount: decimal.nullable().meta({
    description: 'The amount that arrived, on which the fee is charged. Null if it is the announced amount.',
  }),
  rechargeStatus: coded(rechargeStatus),
  proofFileBizId: bizId.nullable(),
  externalReference: z.string().nullable(),
  cancelReason: z.string().nullable(),
  rejectReason: z.string().nullable(),
  expiresAt: timestamp,
  completedAt: timestamp.nullable(),
  statusHistory: statusHistory(rechargeStatus),
})

const proofUses = z
  .array(z.object({ rechargeBizId: bizId, workspaceBizId: bizId, createdAt: timestamp }))
  .optional()
  .meta({
    description:
      'Other recharges of any workspace whose proof has the same bytes, newest first, up to 20. Present if the recharge has a proof.',
  })

const RechargeChannel = z.object({
  channelCode: z.string(),
  channelName: z.string(),
  channelType: coded(channelType),
  currency: z.string(),
  minAmount: decimal,
  maxAmount: decimal,
  fixedFee: decimal,
  feeRate: decimal,
  proofRequired: z.boolean(),
  enabled: z.boolean(),
})

export const expiryJob = 'recharges.expire'

const confirmation = {
  by: 'operator',
  permission: 'recharge:approve',
  to: ['COMPLETED'],
  sets: ['externalReference', 'referenceKey', 'receivedAmount', 'receivedFeeAmount', 'receivedNetAmount'],
} as const

/** A recharge with a submitted proof of payment does not expire. A payment can arrive after the expiry. */
export const recharges = orderType('RECHARGE', {
  prefix: 'RCH',
  group: 'recharge',
  statuses: rechargeStatus,
  reply: RechargeOrder,
  filters: { walletId: id.optional(), rechargeStatus: codeOf(rechargeStatus).optional(), ...externalReferenceFilter },
  wallets: { target: 'walletBizId' },
  columns: [
    { name: 'channelCode' },
    { name: 'amount', currencyIn: 'currency' },
    { name: 'currency' },
    { name: 'feeAmount', currencyIn: 'currency', correctedBy: 'receivedFeeAmount' },
    {
      ...{ name: 'netAmount', from: 'amount', minus: 'feeAmount', currencyIn: 'currency' },
      correctedBy: 'receivedNetAmount',
    },
    { name: 'receivedAmount', currencyIn: 'currency' },
    { name: 'proofFileBizId' },
    { name: 'externalReference' },
    { name: 'cancelReason' },
    { name: 'rejectReason' },
  ],
  moves: {
    create: { by: 'member', from: [], to: ['PENDING_PAYMENT'] },
    cancel: { by: 'member', from: ['PENDING_PAYMENT'], to: ['CANCELLED'], reason: 'cancelReason' },
    proof: {
      by: 'member',
      from: ['PENDING_PAYMENT'],
      to: ['PROOF_SUBMITTED'],
      sets: ['proofFileBizId', 'proofSha256'],
    },
    expire: { by: 'clock', job: expiryJob, from: ['PENDING_PAYMENT'], to: ['EXPIRED'] },
    confirm: { ...confirmation, from: ['PENDING_PAYMENT', 'PROOF_SUBMITTED'], limits: 'REPLACED' },
    confirmExpired: { ...confirmation, from: ['EXPIRED'], limits: 'COUNTED', afterEnd: true },
    reject: {
      by: 'operator',
      permission: 'recharge:approve',
      from: ['PROOF_SUBMITTED'],
      to: ['REJECTED'],
      reason: 'rejectReason',
      whileFrozen: true,
    },
    drop: { by: 'sandbox', from: ['PENDING_PAYMENT', 'PROOF_SUBMITTED'], to: ['CANCELLED'], reason: 'cancelReason' },
  },
})

export const ledgerTypes = {
  orders: { RECHARGE: recharges },
  flowTypes: { RECHARGE: 10090303 },
} as const satisfies LedgerTypes

export const events = recharges.events

declare global {
  interface PorticoLedger {
    recharges: typeof ledgerTypes
  }
  interface PorticoEvents {
    recharges: typeof events
  }
}

const orders = recharges.operations
const decision = recharges.decision('confirm')
const request = {
  ...orders.create,
  body: RechargeRequest,
  refuses: ['RESOURCE.NOT_FOUND', 'CHANNEL.NOT_AVAILABLE', 'WALLET.LIMIT_EXCEEDED', 'WALLET.NOT_ACTIVE'],
} as const

export const listRecharges = operation({
  ...orders.list,
  id: 'recharges.list',
  path: '/recharges',
  summary: 'List the recharges of a workspace',
})

export const listRechargeChannels = operation({
  ...orders.list,
  id: 'recharges.availableChannels',
  path: '/recharges/available-channels',
  summary: 'List the channels for incoming payments',
  query: z.strictObject({ currency: currency.optional() }),
  reply: z.array(RechargeChannel),
})

export const readRecharge = operation({
  ...orders.read,
  id: 'recharges.read',
  path: '/recharges/{recharge_id}',
  summary: 'Read a recharge',
})

export const quoteRecharge = operation({
  ...request,
  id: 'recharges.quote',
  path: '/recharges/quote',
  summary: 'Calculate the fee of a recharge',
  policy: { ...request.policy, idempotent: false },
  reply: z.object(figures),
})

export const createRecharge = operation({
  ...request,
  id: 'recharges.create',
  path: '/recharges',
  summary: 'Announce a payment into a wallet',
  emits: recharges.emits('create'),
})

export const cancelRecharge = operation({
  ...orders.change,
  id: 'recharges.cancel',
  path: '/recharges/{recharge_id}/cancel',
  summary: 'Cancel an unpaid recharge',
  body: z.strictObject({ cancelReason: memberReason }),
  emits: recharges.emits('cancel'),
})

export const submitRechargeProof = operation({
  ...orders.change,
  id: 'recharges.proof',
  path: '/recharges/{recharge_id}/proof',
  summary: 'Submit an uploaded file as proof of payment',
  body: z.strictObject({ fileBizId: id }),
  emits: recharges.emits('proof'),
})

const referenceAllowances = z
  .array(
    z.object({
      externalReference: z.string(),
      reason: z.string(),
      actorBizId: bizId,
      createdAt: timestamp,
      usedAt: timestamp.nullable(),
    }),
  )
  .optional()
  .meta({
    description: 'References that this recharge can use although another one has. Present if an operator allowed any.',
  })

const RechargeOfAll = orders.readAny.reply.extend({ proofUsedBefore: proofUses, referenceAllowances })

export const listAllRecharges = operation({
  ...orders.listAll,
  id: 'recharges.listAll',
  path: '/recharges',
  summary: 'List the recharges of all workspaces',
  reply: page(RechargeOfAll),
})

export const readAnyRecharge = operation({
  ...orders.readAny,
  id: 'recharges.readAny',
  path: '/recharges/{recharge_id}',
  summary: 'Read a recharge of any workspace',
  reply: RechargeOfAll,
})

export const downloadRechargeProof = operation({
  id: 'recharges.downloadProof',
  method: 'GET',
  path: '/recharges/{recharge_id}/proof/download',
  chains: ['system'],
  summary: 'Download a proof of payment',
  policy: { ...operator, permission: 'recharge:approve', channel: 'none' },
  body: 'none',
  reply: 'stream',
  refuses: ['RESOURCE.NOT_FOUND', 'FILE.RANGE_NOT_SATISFIABLE'],
})

/** The body is required unless `money.recharge.referenceRequired` is false. Without a body, the handler gets undefined. */
export const confirmRecharge = operation({
  ...decision,
  id: 'recharges.confirm',
  path: '/recharges/{recharge_id}/confirm',
  summary: 'Confirm a recharge and credit the wallet',
  confirms: ['recharge_id', 'receivedAmount'],
  purpose: ({ recharge_id: order, receivedAmount: amount }) => ({ order, amount }),
  body: z
    .strictObject({
      externalReference: orNone(pastedLine(128, 0)).meta({
        description:
          'Reference of the payment in the bank statement. It confirms one recharge per channel. Only letters and digits are compared. Required for an expired recharge.',
      }),
      receivedAmount: amount.optional().meta({
        description:
          'The amount that arrived, if it is not the announced one. At most the maximum of the channel. The fee is charged on it.',
      }),
    })
    .optional(),
  refuses: [...decision.refuses, 'WALLET.NOT_ACTIVE', 'WALLET.LIMIT_EXCEEDED', 'CHANNEL.NOT_AVAILABLE'],
})

/** For references that identify no payment, such as `Rent`. Another operator confirms the recharge. */
export const allowRechargeReference = operation({
  ...decision,
  id: 'recharges.allowReference',
  path: '/recharges/{recharge_id}/allow-reference',
  summary: 'Allow a recharge a reference that is already used',
  body: z.strictObject({ externalReference: pastedLine(128), reason }),
  emits: [],
})

export const rejectRecharge = operation({
  ...recharges.reasonedDecision('reject'),
  id: 'recharges.reject',
  path: '/recharges/{recharge_id}/reject',
  summary: 'Reject a recharge',
})
