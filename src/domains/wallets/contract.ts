import * as z from 'zod'
import { bizId, coded, codeOf, decimal, instant, reason, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'

import { member, operator } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'
import { flowDirection, flowType, walletStatus } from '../../ledger/contract.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Wallets, balances, and flows.'

const Wallet = z.object({
  bizId,
  workspaceBizId: bizId,
  walletName: z.string(),
  currency: z.string(),
  currencyExponent: z.int(),
  walletStatus: coded(walletStatus),
  isDefault: z.boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
})

const Balance = z.object({
  walletBizId: bizId,
  currency: z.string(),
  availableBalance: decimal,
  heldBalance: decimal,
  totalBalance: decimal,
  asOf: timestamp,
  version: z.int(),
})

const Flow = z.object({
  bizId,
  sequence: z.int(),
  flowType: coded(flowType),
  direction: coded(flowDirection),
  amount: decimal,
  currency: z.string(),
  balanceAfter: decimal,
  orderType: z.string().nullable(),
  orderBizId: bizId.nullable(),
  description: z.string().nullable(),
  createdAt: timestamp,
})

export const flowFilters = {
  flowType: codeOf(flowType).optional(),
  direction: codeOf(flowDirection).optional(),
}

const reading = { ...member, workspace: 'required', permission: 'wallet:read' } as const
const get = { method: 'GET', chains: ['consumer', 'api'], body: 'none' } as const
const one = { ...get, policy: reading, refuses: ['RESOURCE.NOT_FOUND'] } as const

export const listWallets = operation({
  ...get,
  id: 'wallets.list',
  path: '/wallets',
  summary: 'The workspace’s wallets',
  policy: { ...reading, workspace: 'optional' },
  reply: z.array(Wallet),
  refuses: [],
})

export const readWallet = operation({
  ...one,
  id: 'wallets.read',
  path: '/wallets/{wallet_id}',
  summary: 'One wallet',
  reply: Wallet,
})

export const readBalance = operation({
  ...one,
  id: 'wallets.balance',
  path: '/wallets/{wallet_id}/balance',
  summary: 'A wallet’s balance, now or at a moment of the past',
  query: z.strictObject({ at: instant.optional() }),
  reply: Balance,
})

export const listFlows = operation({
  ...one,
  id: 'wallets.flows',
  path: '/wallets/{wallet_id}/flows',
  summary: 'What went in and out of a wallet',
  query: listQuery(['sequence', 'createdAt'], flowFilters),
  reply: page(Flow),
})

const freezing = {
  method: 'POST',
  chains: ['system'],
  policy: { ...operator, permission: 'wallet:freeze' },
  body: z.strictObject({ reason }),
  reply: Wallet,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const freezeWallet = operation({
  ...freezing,
  id: 'wallets.freeze',
  path: '/wallets/{wallet_id}/freeze',
  summary: 'Stop a wallet’s movements',
})

export const closeWallet = operation({
  ...freezing,
  id: 'wallets.close',
  path: '/wallets/{wallet_id}/close',
  summary: 'End a frozen wallet that is empty and holds nothing, for good',
  policy: { ...operator, permission: 'wallet:close' },
})

export const unfreezeWallet = operation({
  ...freezing,
  id: 'wallets.unfreeze',
  path: '/wallets/{wallet_id}/unfreeze',
  summary: 'Let a frozen wallet move again; never one’s own workspace’s',
})
