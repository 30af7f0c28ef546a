import type { Money } from '../kernel/index.ts'
import type { Entry, Party } from './command.ts'

/** The house's account for fees, where one is taken. */
export const feeParties = ({ minor, currency }: Money): Party[] =>
  minor > 0n ? [{ label: 'fee', house: 'FEE', currency, short: 'SYSTEM.INTERNAL_ERROR' }] : []

/** The fee's way to the house, from the account that pays it. */
export const feeEntries = (payer: string, { minor }: Money): Entry[] =>
  minor > 0n
    ? [
        { account: payer, amount: -minor, flowType: 'FEE' },
        { account: 'fee', amount: minor, flowType: 'FEE' },
      ]
    : []
