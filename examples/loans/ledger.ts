/* The ledger types of loans, and the commands that move their money. */
import type { AccountId, HouseParty, NewOrder, OrderCommand, WalletParty } from 'portico'
import type { LedgerTypes } from 'portico/contract'
import type { LoanRow } from './store.ts'

export const ledgerTypes = {
  orders: {
    LOAN_PAYOUT: { prefix: 'LPO', open: [], final: ['COMPLETED'] },
    LOAN_REPAYMENT: { prefix: 'LRP', open: [], final: ['COMPLETED'] },
  },
  flowTypes: { LOAN_PAYOUT: 20000201, LOAN_REPAYMENT: 20000202 },
  houseAccounts: ['LOANS'],
} as const satisfies LedgerTypes

declare global {
  interface PorticoLedger {
    loans: typeof ledgerTypes
  }
}

/** A movement of money between the house and a wallet of the loan's workspace. */
interface Movement {
  loan: LoanRow
  wallet: WalletParty['wallet']
  /** In minor units. */
  amount: bigint
  actor: AccountId
}

/** Returns the command that pays a loan out. */
export function payout(movement: Movement): OrderCommand {
  return {
    actor: movement.actor,
    parties: [houseOf(movement.loan), walletOf(movement, 'target')],
    create: orderOf(movement, 'LOAN_PAYOUT'),
    entries: [
      { account: 'house', amount: -movement.amount, flowType: 'LOAN_PAYOUT' },
      { account: 'target', amount: movement.amount, flowType: 'LOAN_PAYOUT' },
    ],
  }
}

/** Returns the command that repays a part of a loan. */
export function repayment(movement: Movement): OrderCommand {
  return {
    actor: movement.actor,
    parties: [walletOf(movement, 'source'), houseOf(movement.loan)],
    create: orderOf(movement, 'LOAN_REPAYMENT'),
    entries: [
      { account: 'source', amount: -movement.amount, flowType: 'LOAN_REPAYMENT' },
      { account: 'house', amount: movement.amount, flowType: 'LOAN_REPAYMENT' },
    ],
  }
}

function houseOf({ currency }: LoanRow): HouseParty {
  return {
    label: 'house',
    house: 'LOANS',
    currency,
    insufficientFunds: 'LOAN.NOT_AVAILABLE',
  }
}

function walletOf({ loan, wallet }: Movement, label: 'source' | 'target'): WalletParty {
  return {
    label,
    wallet,
    workspace: loan.workspaceBizId,
    currency: loan.currency,
    active: true,
    currencyField: 'amount',
  }
}

function orderOf({ loan, amount }: Movement, type: keyof typeof ledgerTypes.orders): NewOrder {
  return {
    workspace: loan.workspaceBizId,
    type,
    data: { loanBizId: loan.bizId, amount: String(amount), currency: loan.currency },
    steps: [{ status: 'COMPLETED' }],
  }
}
