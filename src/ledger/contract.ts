import { type CodeOf, codedFamily } from '../kernel/index.ts'

export const codes = {
  'WALLET.INSUFFICIENT_FUNDS': { status: 422 },
  'WALLET.NOT_ACTIVE': { status: 422 },
  'WALLET.LIMIT_EXCEEDED': { status: 422 },
  'CHANNEL.NOT_AVAILABLE': { status: 422 },
} as const

declare module '../kernel/codes.ts' {
  interface CodesByOwner {
    ledger: typeof codes
  }
}

export const walletStatus = codedFamily('walletStatus', { ACTIVE: 10090101, FROZEN: 10090102, CLOSED: 10090103 })
export type WalletStatus = CodeOf<typeof walletStatus>

export const flowType = codedFamily('flowType', {
  TRANSFER: 10090301,
  EXCHANGE: 10090302,
  RECHARGE: 10090303,
  WITHDRAWAL: 10090304,
  FEE: 10090305,
  OPENING: 10090306,
})
export type FlowType = CodeOf<typeof flowType>

export const flowDirection = codedFamily('flowDirection', { IN: 10090401, OUT: 10090402 })
export type FlowDirection = CodeOf<typeof flowDirection>
