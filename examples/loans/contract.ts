/*
 * The operations of loans. This module is safe in a browser: a front end passes it to `createClient({ contract: [loans] })`.
 */
import {
  amount,
  bizId,
  coded,
  codedFamily,
  currency,
  decimal,
  decision,
  id,
  member,
  money,
  operation,
  timestamp,
  withMoney,
  z,
} from 'portico/contract'

export const codes = {
  'LOAN.NOT_ELIGIBLE': { status: 422 },
  'LOAN.NOT_AVAILABLE': { status: 422 },
  'LOAN.OVERPAID': { status: 422 },
} as const

declare global {
  interface PorticoCodes {
    loans: typeof codes
  }
}

export const loanStatus = codedFamily('loanStatus', {
  REQUESTED: 20000101,
  PAID_OUT: 20000102,
  EXPIRED: 20000103,
  REPAID: 20000104,
})

export const Loan = z.object({
  bizId,
  amount: decimal,
  repaidAmount: decimal,
  currency: z.string(),
  loanStatus: coded(loanStatus),
  createdAt: timestamp,
})

export const applyForLoan = operation({
  id: 'loans.apply',
  method: 'POST',
  path: '/loans',
  chains: ['consumer', 'api'],
  summary: 'Apply for a loan',
  policy: { ...money, workspace: 'required', permission: 'loan:create' },
  body: withMoney(z.strictObject({ amount, currency }), (body) => body.currency),
  reply: Loan,
  refuses: ['LOAN.NOT_ELIGIBLE'],
})

export const listLoans = operation({
  id: 'loans.list',
  method: 'GET',
  path: '/loans',
  chains: ['consumer', 'api'],
  summary: 'List the 100 newest loans of a workspace',
  policy: { ...member, workspace: 'required', permission: 'loan:read' },
  body: 'none',
  reply: z.array(Loan),
  refuses: [],
})

export const approveLoan = operation({
  id: 'loans.approve',
  method: 'POST',
  path: '/loans/{loan_id}/approve',
  chains: ['system'],
  summary: 'Approve a loan and pay it out',
  policy: { ...decision, permission: 'loan:approve' },
  params: { loan_id: id },
  body: 'none',
  reply: Loan,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'LOAN.NOT_AVAILABLE', 'WALLET.NOT_ACTIVE'],
})

export const repayLoan = operation({
  id: 'loans.repay',
  method: 'POST',
  path: '/loans/{loan_id}/repay',
  chains: ['consumer', 'api'],
  summary: 'Repay a loan, or a part of it',
  policy: { ...money, workspace: 'required', permission: 'loan:repay' },
  params: { loan_id: id },
  body: z.strictObject({ amount }),
  reply: Loan,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'LOAN.OVERPAID', 'WALLET.INSUFFICIENT_FUNDS', 'WALLET.NOT_ACTIVE'],
})
