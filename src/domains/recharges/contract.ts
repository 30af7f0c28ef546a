import * as z from 'zod'
import { amount, bizId, coded, codeOf, currency, decimal, id, reason, text, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import { orderFields, statusHistory, workspaceFields, workspaceFilters } from '../../contract/orders.ts'

import { decision, member, money, operator } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'
import { channelType } from '../withdrawal-channels/contract.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Incoming payments and their proofs. Operators confirm or reject them.'

export const rechargeStatus = codedFamily('rechargeStatus', {
  PENDING_PAYMENT: 10090801,
  PROOF_SUBMITTED: 10090802,
  COMPLETED: 10090803,
  REJECTED: 10090804,
  CANCELLED: 10090805,
  EXPIRED: 10090806,
})
export type RechargeStatus = CodeOf<typeof rechargeStatus>

/** The currency is the wallet's; whether the amount fits it is judged with the wallet at hand. */
const RechargeRequest = z.strictObject({ walletBizId: id, channelCode: text(64), amount })

/** `netAmount` is what the wallet receives: the amount less the fee. */
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
  rechargeStatus: coded(rechargeStatus),
  proofFileBizId: bizId.nullable(),
  cancelReason: z.string().nullable(),
  rejectReason: z.string().nullable(),
  expiresAt: timestamp,
  completedAt: timestamp.nullable(),
  statusHistory: statusHistory(rechargeStatus),
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

const sortable = ['createdAt', 'updatedAt'] as const
export const rechargeFilters = { walletId: id.optional(), rechargeStatus: codeOf(rechargeStatus).optional() }

const reading = { ...member, workspace: 'required', permission: 'recharge:read' } as const
const creating = { ...money, workspace: 'required', permission: 'recharge:create' } as const
const get = { method: 'GET', chains: ['consumer'], policy: reading, body: 'none' } as const
const post = { method: 'POST', chains: ['consumer'], policy: creating } as const
const unfit = ['RESOURCE.NOT_FOUND', 'CHANNEL.NOT_AVAILABLE', 'WALLET.LIMIT_EXCEEDED', 'WALLET.NOT_ACTIVE'] as const
const changesOne = { reply: RechargeOrder, refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'] } as const

export const listRecharges = operation({
  ...get,
  id: 'recharges.list',
  path: '/recharges',
  summary: 'Recharge orders of the workspace, by filter',
  query: listQuery(sortable, rechargeFilters),
  reply: page(RechargeOrder),
  refuses: [],
})

export const listRechargeChannels = operation({
  ...get,
  id: 'recharges.availableChannels',
  path: '/recharges/available-channels',
  summary: 'The ways to pay in',
  query: z.strictObject({ currency: currency.optional() }),
  reply: z.array(RechargeChannel),
  refuses: [],
})

export const readRecharge = operation({
  ...get,
  id: 'recharges.read',
  path: '/recharges/{recharge_id}',
  summary: 'One recharge order',
  reply: RechargeOrder,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const quoteRecharge = operation({
  ...post,
  id: 'recharges.quote',
  path: '/recharges/quote',
  summary: 'What a recharge would cost',
  policy: { ...creating, idempotent: false },
  body: RechargeRequest,
  reply: z.object(figures),
  refuses: unfit,
})

export const createRecharge = operation({
  ...post,
  id: 'recharges.create',
  path: '/recharges',
  summary: 'Announce a payment into a wallet',
  body: RechargeRequest,
  reply: RechargeOrder,
  refuses: unfit,
})

export const cancelRecharge = operation({
  ...post,
  ...changesOne,
  id: 'recharges.cancel',
  path: '/recharges/{recharge_id}/cancel',
  summary: 'Cancel a recharge that is not paid',
  body: z.strictObject({ cancelReason: reason }),
})

export const submitRechargeProof = operation({
  ...post,
  ...changesOne,
  id: 'recharges.proof',
  path: '/recharges/{recharge_id}/proof',
  summary: 'Show an uploaded file as proof of payment',
  body: z.strictObject({ fileBizId: id }),
})

const seen = { ...get, chains: ['system'], policy: { ...operator, permission: 'recharge:read' } } as const
const decided = {
  ...changesOne,
  method: 'POST',
  chains: ['system'],
  policy: { ...decision, permission: 'recharge:approve' },
} as const

export const listAllRecharges = operation({
  ...seen,
  id: 'recharges.listAll',
  path: '/recharges',
  summary: 'Recharge orders of every workspace, by filter',
  query: listQuery(sortable, { ...rechargeFilters, ...workspaceFilters }),
  reply: page(RechargeOrder.extend(workspaceFields)),
  refuses: [],
})

export const readAnyRecharge = operation({
  ...seen,
  id: 'recharges.readAny',
  path: '/recharges/{recharge_id}',
  summary: 'One recharge order of any workspace',
  reply: RechargeOrder.extend(workspaceFields),
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const downloadRechargeProof = operation({
  ...seen,
  id: 'recharges.downloadProof',
  path: '/recharges/{recharge_id}/proof/download',
  summary: 'The file that was shown as proof of payment, as an attachment; Range and ETag are served',
  policy: { ...operator, permission: 'recharge:approve', channel: 'none' },
  reply: 'stream',
  refuses: ['RESOURCE.NOT_FOUND', 'FILE.RANGE_NOT_SATISFIABLE'],
})

export const confirmRecharge = operation({
  ...decided,
  id: 'recharges.confirm',
  path: '/recharges/{recharge_id}/confirm',
  summary: 'The payment has arrived: credit the wallet; never one’s own',
  body: 'none',
  refuses: [...changesOne.refuses, 'WALLET.NOT_ACTIVE'],
})

export const rejectRecharge = operation({
  ...decided,
  id: 'recharges.reject',
  path: '/recharges/{recharge_id}/reject',
  summary: 'The proof does not hold',
  body: z.strictObject({ reason }),
})
