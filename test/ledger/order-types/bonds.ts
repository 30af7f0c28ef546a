import { z } from 'zod'
import * as exchanges from '../../../src/banking/exchanges/contract.ts'
import * as recharges from '../../../src/banking/recharges/contract.ts'
import * as transfers from '../../../src/banking/transfers/contract.ts'
import * as withdrawals from '../../../src/banking/withdrawals/contract.ts'
import { collectLedgerTypes } from '../../../src/contract/ledger/ledger-types.ts'
import { codedFamily } from '../../../src/kernel/index.ts'
import * as ledger from '../../../src/ledger/contract.ts'
import { orderType } from '../../../src/ledger/order-types/contract.ts'

const bondStatus = codedFamily('bondStatus', {
  PENDING_APPROVAL: 20098001,
  PROCESSING: 20098002,
  COMPLETED: 20098003,
  RETURNED: 20098004,
  CANCELLED: 20098005,
  EXPIRED: 20098006,
})

/** An order type of an extension that uses every field of a declaration. */
export const bonds = orderType('BOND', {
  prefix: 'BND',
  group: 'bond',
  statuses: bondStatus,
  reply: z.object({}),
  filters: {},
  wallets: { source: 'walletBizId' },
  columns: [{ name: 'amount', currencyIn: 'currency' }, { name: 'returnReason' }],
  moves: {
    create: { by: 'member', from: [], to: ['PENDING_APPROVAL'], holds: 'HELD' },
    cancel: { by: 'member', from: ['PENDING_APPROVAL'], to: ['CANCELLED'], holds: 'RELEASED' },
    expire: { by: 'clock', job: 'bonds.expire', from: ['PENDING_APPROVAL'], to: ['EXPIRED'], holds: 'RELEASED' },
    approve: { by: 'operator', permission: 'withdrawal:approve', from: ['PENDING_APPROVAL'], to: ['PROCESSING'] },
    complete: {
      by: 'operator',
      permission: 'withdrawal:settle',
      from: ['PROCESSING'],
      to: ['COMPLETED'],
      holds: 'CAPTURED',
    },
    giveBack: {
      by: 'operator',
      permission: 'withdrawal:settle',
      from: ['COMPLETED'],
      to: ['RETURNED'],
      reason: 'returnReason',
      limits: 'RETURNED',
      afterEnd: true,
      whileFrozen: true,
    },
    revive: {
      by: 'operator',
      permission: 'withdrawal:settle',
      from: ['EXPIRED'],
      to: ['COMPLETED'],
      limits: 'COUNTED',
      afterEnd: true,
    },
    drop: { by: 'sandbox', from: ['PENDING_APPROVAL', 'PROCESSING'], to: ['CANCELLED'], holds: 'RELEASED' },
  },
})

declare global {
  interface PorticoLedger {
    testedBonds: typeof bonds
  }
}

export const types = collectLedgerTypes({ ledger, transfers, exchanges, recharges, withdrawals, bonds: { bonds } })

export const declaredTypes = [
  transfers.transfers,
  exchanges.exchanges,
  recharges.recharges,
  withdrawals.withdrawals,
  bonds,
] as const
