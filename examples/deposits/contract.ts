/* The life cycle of deposits and their operations. This module is safe in a browser. */
import {
  amount,
  bizId,
  coded,
  codedFamily,
  codeOf,
  currency,
  decimal,
  type LedgerTypes,
  operation,
  orderFields,
  orderType,
  statusHistory,
  timestamp,
  withMoney,
  z,
} from 'portico/contract'

export const summary = 'Deposits of a workspace. Operators accept them.'
export const permissions = {
  workspace: { deposit: { sortOrder: 210_000, actions: ['read', 'create'] } },
  operator: { deposit: { sortOrder: 210_000, actions: ['read', 'approve'], powers: ['approve'] } },
} as const
export const ledgerTypes = {
  flowTypes: { DEPOSIT: 20980301 },
  houseAccounts: ['DEPOSITS'],
} as const satisfies LedgerTypes

export const depositStatus = codedFamily('depositStatus', {
  REQUESTED: 20980101,
  ACCEPTED: 20980102,
  DECLINED: 20980103,
  CANCELLED: 20980104,
  EXPIRED: 20980105,
  PAID_BACK: 20980106,
})

const Deposit = z.object({
  ...orderFields,
  workspaceBizId: bizId,
  walletBizId: bizId,
  amount: decimal,
  currency: z.string(),
  depositStatus: coded(depositStatus),
  declineReason: z.string().nullable(),
  expiresAt: timestamp,
  statusHistory: statusHistory(depositStatus),
})

export const expiryJob = 'deposits.expire'

/** The funds are held until an operator accepts the deposit. */
export const deposits = orderType('DEPOSIT', {
  prefix: 'DPO',
  group: 'deposit',
  statuses: depositStatus,
  reply: Deposit,
  filters: { depositStatus: codeOf(depositStatus).optional() },
  wallets: { source: 'walletBizId' },
  columns: [{ name: 'amount', currencyIn: 'currency' }, { name: 'currency' }, { name: 'declineReason' }],
  moves: {
    request: { by: 'member', from: [], to: ['REQUESTED'], holds: 'HELD' },
    cancel: { by: 'member', from: ['REQUESTED'], to: ['CANCELLED'], holds: 'RELEASED' },
    expire: { by: 'clock', job: expiryJob, from: ['REQUESTED'], to: ['EXPIRED'], holds: 'RELEASED' },
    accept: {
      by: 'operator',
      permission: 'deposit:approve',
      from: ['REQUESTED'],
      to: ['ACCEPTED'],
      holds: 'CAPTURED',
    },
    decline: {
      by: 'operator',
      permission: 'deposit:approve',
      from: ['REQUESTED'],
      to: ['DECLINED'],
      holds: 'RELEASED',
      reason: 'declineReason',
      whileFrozen: true,
    },
    payBack: {
      by: 'operator',
      permission: 'deposit:approve',
      from: ['ACCEPTED'],
      to: ['PAID_BACK'],
      afterEnd: true,
      whileFrozen: true,
    },
    drop: { by: 'sandbox', from: ['REQUESTED'], to: ['CANCELLED'], holds: 'RELEASED' },
  },
})

declare global {
  interface PorticoLedger {
    deposits: typeof ledgerTypes
    depositOrders: typeof deposits
  }
}

const { list, read, create, change, listAll } = deposits.operations
const acceptance = deposits.decision('accept')

export const listDeposits = operation({
  ...list,
  id: 'deposits.list',
  path: '/deposits',
  summary: 'List the deposits of a workspace',
})
export const readDeposit = operation({
  ...read,
  id: 'deposits.read',
  path: '/deposits/{deposit_id}',
  summary: 'Read a deposit',
})
export const requestDeposit = operation({
  ...create,
  id: 'deposits.request',
  path: '/deposits',
  summary: 'Request a deposit and hold its funds',
  body: withMoney(z.strictObject({ amount, currency }), (body) => body.currency),
  refuses: ['RESOURCE.NOT_FOUND', 'WALLET.INSUFFICIENT_FUNDS', 'WALLET.NOT_ACTIVE'],
})
export const cancelDeposit = operation({
  ...change,
  id: 'deposits.cancel',
  path: '/deposits/{deposit_id}/cancel',
  summary: 'Cancel a deposit and release its funds',
  body: 'none',
})
export const listAllDeposits = operation({
  ...listAll,
  id: 'deposits.listAll',
  path: '/deposits',
  summary: 'List the deposits of all workspaces',
})
export const acceptDeposit = operation({
  ...acceptance,
  id: 'deposits.accept',
  path: '/deposits/{deposit_id}/accept',
  summary: 'Accept a deposit',
  refuses: [...acceptance.refuses, 'WALLET.NOT_ACTIVE'],
})
export const declineDeposit = operation({
  ...deposits.reasonedDecision('decline'),
  id: 'deposits.decline',
  path: '/deposits/{deposit_id}/decline',
  summary: 'Decline a deposit and release its funds',
})
export const payDepositBack = operation({
  ...deposits.decision('payBack'),
  id: 'deposits.payBack',
  path: '/deposits/{deposit_id}/pay-back',
  summary: 'Pay an accepted deposit back',
})
