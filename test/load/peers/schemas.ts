import { z } from 'zod'
import { developmentIds } from '../../../src/seed/development.ts'
import { peerAccount } from './account.ts'

/* The Express peers validate the same values as Portico. */

const Coded = z.object({ code: z.string(), value: z.int(), label: z.string(), description: z.string() })
const Amount = z.string().regex(/^\d{1,18}(\.\d{1,18})?$/)
const instant = z.iso.datetime()

export const Wallet = z.object({
  bizId: z.uuid(),
  workspaceBizId: z.uuid(),
  walletName: z.string(),
  currency: z.string(),
  currencyExponent: z.int(),
  walletStatus: Coded,
  isDefault: z.boolean(),
  createdAt: instant,
  updatedAt: instant,
})

export const Transfer = z.object({
  bizId: z.uuid(),
  orderNo: z.string(),
  version: z.int(),
  createdAt: instant,
  updatedAt: instant,
  workspaceBizId: z.uuid(),
  sourceWalletBizId: z.uuid(),
  targetWalletBizId: z.uuid(),
  amount: Amount,
  currency: z.string(),
  feeAmount: Amount,
  remark: z.string().nullable(),
  clientReference: z.string().nullable(),
  transferStatus: Coded,
  failureCode: z.string().nullable(),
  completedAt: instant.nullable(),
  statusHistory: z.array(z.unknown()),
})

export const TransferRequest = z.strictObject({
  sourceWalletBizId: z.uuid(),
  targetWalletBizId: z.uuid(),
  amount: Amount,
  currency: z.string(),
  remark: z.string().optional(),
})

export const RequestHeaders = z.object({
  'x-portal-access-code': z.literal('consumer-dev'),
  'x-request-id': z.string().regex(/^[\w.-]{1,64}$/),
  'x-client-hash': z.string().regex(/^[\w.-]{1,128}$/),
  'x-forwarded-proto': z.literal('https'),
  'cf-connecting-ip': z.union([z.ipv4(), z.ipv6()]),
  'cf-ipcountry': z.string().length(2),
  'x-workspace-id': z.uuid(),
})

/** Members by workspace. */
export const workspaces = new Map<string, ReadonlySet<string>>([[developmentIds.workspace, new Set([peerAccount])]])
