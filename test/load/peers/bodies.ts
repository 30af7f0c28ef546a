import { developmentIds } from '../../../src/seed/development.ts'

/* About 400 bytes each. The schemas of the proxied operations accept them. */

const { mainUsd, savingsUsd, workspace } = developmentIds
const at = '2026-01-31T12:00:00.000Z'

export const wallet = JSON.stringify({
  bizId: mainUsd,
  workspaceBizId: workspace,
  walletName: 'Main USD',
  currency: 'USD',
  currencyExponent: 2,
  walletStatus: { code: 'ACTIVE', value: 10090101, label: 'Active', description: 'The wallet can be used' },
  isDefault: true,
  createdAt: at,
  updatedAt: at,
})

export const transfer = JSON.stringify({
  bizId: '01990000-0000-7000-8000-0000000000aa',
  orderNo: 'TR20260131000001',
  version: 1,
  createdAt: at,
  updatedAt: at,
  workspaceBizId: workspace,
  sourceWalletBizId: mainUsd,
  targetWalletBizId: savingsUsd,
  amount: '1.00',
  currency: 'USD',
  feeAmount: '0.00',
  remark: null,
  clientReference: null,
  transferStatus: { code: 'COMPLETED', value: 10090203, label: 'Completed', description: '' },
  failureCode: null,
  completedAt: at,
  statusHistory: [],
})

export const transferRequest = JSON.stringify({
  sourceWalletBizId: mainUsd,
  targetWalletBizId: savingsUsd,
  amount: '1.00',
  currency: 'USD',
  remark: 'A measured transfer',
})
