import type { ClientOptions } from '../../src/client/index.ts'
import { createClient } from '../../src/client/index.ts'

export const walletId = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'

const method = { code: 'EMAIL', value: 10011001, label: 'E-mail', description: 'A code by e-mail' }

export const begun = {
  sessionId: 'pre-login',
  mfaMethods: [method],
  expiresIn: 600,
  accountStatus: null,
  pendingApproval: false,
}
export const sent = {
  mfaMethod: method,
  maskedDestination: 'o***@demo.test',
  expiresIn: 600,
  resendAfter: 30,
  attemptsRemaining: 5,
}
export function pair(name: string, expiresIn = 900) {
  return {
    accessToken: `access-${name}`,
    refreshToken: `refresh-${name}`,
    expiresIn,
  }
}
export const completed = {
  ...pair('1'),
  tokenType: 'Bearer',
  refreshExpiresIn: 43_200,
  sessionId: 'session',
  isNewDevice: true,
}
export const wallet = {
  bizId: walletId,
  workspaceBizId: walletId,
  walletName: 'Main',
  currency: 'USD',
  currencyExponent: 2,
  walletStatus: { code: 'ACTIVE', value: 10090101, label: 'Active', description: '' },
  isDefault: true,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
}

const status = { code: 'COMPLETED', value: 10090203, label: 'Completed', description: '' }
export const transfer = {
  sourceWalletBizId: walletId,
  targetWalletBizId: '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a11',
  amount: '12.50',
  currency: 'USD',
}
export const order = {
  ...transfer,
  bizId: walletId,
  orderNo: 'TR-1',
  version: 1,
  workspaceBizId: walletId,
  feeAmount: '0.00',
  remark: null,
  clientReference: null,
  transferStatus: status,
  failureCode: null,
  completedAt: '2026-01-01T00:00:00.000Z',
  statusHistory: [{ status, at: '2026-01-01T00:00:00.000Z', actorBizId: null, reason: null }],
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
}

/** By default, without delays and without a channel. */
export function consumer(baseUrl: string, more: Partial<ClientOptions<'CONSUMER'>> = {}) {
  return createClient({
    baseUrl,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    seal: 'none',
    retry: { firstDelayMs: 1 },
    ...more,
  })
}
