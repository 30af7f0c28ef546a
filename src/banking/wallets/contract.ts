import * as z from 'zod'
import { statusEvents } from '../../contract/events/event.ts'
import { bizId, coded, currency, decimal, instant, line, orNone, reason, timestamp } from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'

import type { Permissions } from '../../contract/permissions.ts'
import { member, operator } from '../../contract/policies.ts'
import { type ConfirmedTexts, operation } from '../../kernel/index.ts'
import { type FlowType, flowDirection, flowFilters, flowType, walletStatus } from '../../ledger/contract.ts'

export const summary = 'Wallets, balances, and flows.'

export const permissions = {
  workspace: { wallet: { sortOrder: 600, actions: ['read', 'create'], peopleOnly: ['create'] } },
  operator: { wallet: { sortOrder: 900, actions: ['freeze', 'close'], powers: ['freeze', 'close'] } },
} as const satisfies Permissions

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

export const events = statusEvents('wallet', walletStatus.codes, {
  object: 'A wallet',
  data: Wallet,
  audience: 'workspace',
  permission: 'wallet:read',
  operatorPermission: 'wallet:freeze',
})

declare global {
  interface PorticoEvents {
    wallets: typeof events
  }
}

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
  flowType: coded<FlowType>(flowType),
  direction: coded(flowDirection),
  amount: decimal,
  currency: z.string(),
  balanceAfter: decimal,
  orderType: z.string().nullable(),
  orderBizId: bizId.nullable(),
  description: z.string().nullable(),
  createdAt: timestamp,
})

const reading = { ...member, workspace: 'required', permission: 'wallet:read' } as const
const get = { method: 'GET', chains: ['consumer', 'api'], body: 'none' } as const
const one = { ...get, policy: reading, refuses: ['RESOURCE.NOT_FOUND'] } as const

export const listWallets = operation({
  ...get,
  id: 'wallets.list',
  path: '/wallets',
  summary: 'List the wallets of a workspace',
  policy: { ...reading, workspace: 'optional' },
  reply: z.array(Wallet),
  refuses: [],
})

export const createWallet = operation({
  id: 'wallets.create',
  method: 'POST',
  path: '/wallets',
  emits: ['wallet.active'],
  chains: ['consumer'],
  summary: 'Open a wallet in a currency without an open one',
  policy: { ...member, workspace: 'required', permission: 'wallet:create' },
  body: z.strictObject({ currency, walletName: orNone(line(64, 0)) }),
  reply: Wallet,
  refuses: ['STATE.CONFLICT'],
})

export const readWallet = operation({
  ...one,
  id: 'wallets.read',
  path: '/wallets/{wallet_id}',
  machineParams: { wallet_id: 'walletBizId' },
  summary: 'Read a wallet',
  reply: Wallet,
})

export const readBalance = operation({
  ...one,
  id: 'wallets.balance',
  path: '/wallets/{wallet_id}/balance',
  machineParams: { wallet_id: 'walletBizId' },
  summary: 'Read the balance of a wallet, now or at a past instant',
  query: z.strictObject({ at: instant.optional() }),
  reply: Balance,
})

export const listFlows = operation({
  ...one,
  id: 'wallets.flows',
  path: '/wallets/{wallet_id}/flows',
  machineParams: { wallet_id: 'walletBizId' },
  summary: 'List the flows of a wallet',
  query: listQuery(['sequence', 'createdAt'], flowFilters),
  reply: page(Flow),
})

export const listWalletsOf = operation({
  id: 'wallets.listOf',
  method: 'GET',
  chains: ['system'],
  path: '/workspaces/{workspace_id}/wallets',
  summary: 'List the wallets of any workspace',
  policy: { ...operator, permission: 'workspace:read' },
  body: 'none',
  reply: z.array(
    Wallet.extend({
      balance: Balance.nullable().meta({ description: 'Null for callers without the permission `ledger:read`.' }),
    }),
  ),
  refuses: ['RESOURCE.NOT_FOUND'],
})

const freezing = {
  method: 'POST',
  chains: ['system'],
  policy: { ...operator, permission: 'wallet:freeze', stepUp: true },
  purpose: ({ wallet_id: wallet }: ConfirmedTexts) => ({ wallet }),
  body: z.strictObject({ reason }),
  reply: Wallet,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const

export const freezeWallet = operation({
  ...freezing,
  id: 'wallets.freeze',
  path: '/wallets/{wallet_id}/freeze',
  emits: ['wallet.frozen'],
  summary: 'Freeze a wallet',
})

export const closeWallet = operation({
  ...freezing,
  id: 'wallets.close',
  path: '/wallets/{wallet_id}/close',
  emits: ['wallet.closed'],
  summary: 'Close a frozen, empty wallet permanently',
  policy: { ...freezing.policy, permission: 'wallet:close' },
})

export const unfreezeWallet = operation({
  ...freezing,
  id: 'wallets.unfreeze',
  path: '/wallets/{wallet_id}/unfreeze',
  emits: ['wallet.active'],
  summary: 'Unfreeze a wallet',
})
