/** The lists that can be exported. */
export const exportTypes = ['FLOWS', 'TRANSFERS', 'EXCHANGES', 'RECHARGES', 'WITHDRAWALS', 'LOGIN_HISTORY'] as const
export type ExportType = (typeof exportTypes)[number]

export const formats = ['CSV', 'XLSX', 'JSONL'] as const

export const flowTypes = ['TRANSFER', 'EXCHANGE', 'RECHARGE', 'WITHDRAWAL', 'FEE', 'OPENING'] as const
export const directions = ['IN', 'OUT'] as const
export const transferStatuses = [
  'PENDING_APPROVAL',
  'PROCESSING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'EXPIRED',
] as const
export const exchangeStatuses = ['PROCESSING', 'COMPLETED'] as const
export const rechargeStatuses = [
  'PENDING_PAYMENT',
  'PROOF_SUBMITTED',
  'COMPLETED',
  'REJECTED',
  'CANCELLED',
  'EXPIRED',
] as const
export const withdrawalStatuses = [
  'PENDING_APPROVAL',
  'PROCESSING',
  'COMPLETED',
  'CANCELLED',
  'REJECTED',
  'FAILED',
  'RETURNED',
] as const

/** The statuses by which a list of orders can be filtered. */
export const statusesOf: Readonly<Record<ExportType, readonly string[]>> = {
  FLOWS: [],
  TRANSFERS: transferStatuses,
  EXCHANGES: exchangeStatuses,
  RECHARGES: rechargeStatuses,
  WITHDRAWALS: withdrawalStatuses,
  LOGIN_HISTORY: [],
}

/** The permission to read a list. Null for the sign-ins of the user. */
export const permissionOf: Readonly<Record<ExportType, string | null>> = {
  FLOWS: 'wallet:read',
  TRANSFERS: 'transfer:read',
  EXCHANGES: 'exchange:read',
  RECHARGES: 'recharge:read',
  WITHDRAWALS: 'withdrawal:read',
  LOGIN_HISTORY: null,
}

/** The text if it is one of the choices. */
export function oneOf<Choice extends string>(choices: readonly Choice[], text: string): Choice | undefined {
  return choices.find((each) => each === text)
}
