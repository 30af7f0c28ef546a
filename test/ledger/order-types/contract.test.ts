import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Move, waitingStatuses } from '../../../src/contract/ledger/life-cycle.ts'
import { codedFamily } from '../../../src/kernel/index.ts'
import { orderType } from '../../../src/ledger/order-types/contract.ts'
import { bonds } from './bonds.ts'

const statuses = codedFamily('leaseStatus', { OPEN: 1, SENT: 2, DONE: 3, CANCELLED: 4, UNDONE: 5 })
type Status = 'OPEN' | 'SENT' | 'DONE' | 'CANCELLED' | 'UNDONE'

const create = { by: 'member', from: [], to: ['OPEN'] } as const
const finish = { by: 'operator', permission: 'withdrawal:approve', from: ['OPEN'], to: ['DONE'] } as const
const drop = { by: 'sandbox', from: ['OPEN'], to: ['CANCELLED'] } as const
const undo = { ...finish, from: ['DONE'], to: ['UNDONE'], afterEnd: true } as const

function leaseWith(moves: Readonly<Record<string, Move<Status>>>, prefix = 'LSE') {
  const shape = { reply: z.object({}), filters: {}, wallets: {}, columns: [], group: 'lease' }
  return orderType('LEASE', { ...shape, prefix, statuses, moves: { create, finish, drop, ...moves } })
}

describe('orderType', () => {
  test.each<[error: string, moves: Readonly<Record<string, Move<Status>>>]>([
    ['lose: no order waits in SENT', { lose: { ...finish, from: ['SENT'] } }],
    [
      'no path from SENT ends',
      {
        finish: { by: 'member', from: ['OPEN'], to: ['SENT'] },
        back: { by: 'member', from: ['SENT'], to: ['OPEN'] },
        drop: { ...drop, from: ['OPEN', 'SENT'] },
      },
    ],
    ['no move by sandbox leaves OPEN', { drop: { ...drop, from: [] } }],
    ['drop: DONE is final', { drop: { ...drop, from: ['OPEN', 'DONE'] } }],
    ['undo: OPEN is not final', { undo: { ...undo, from: ['OPEN', 'DONE'] } }],
    ['create: DONE is final and keeps the hold', { create: { ...create, to: ['DONE'], holds: 'HELD' } }],
    ['finish: CAPTURED without a hold', { finish: { ...finish, holds: 'CAPTURED' } }],
    ['DONE is final and keeps the hold', { create: { ...create, holds: 'HELD' } }],
    [
      'an order type has at most one move by clock',
      {
        expire: { by: 'clock', job: 'leases.expire', from: ['OPEN'], to: ['CANCELLED'] },
        lapse: { by: 'clock', job: 'leases.lapse', from: ['OPEN'], to: ['DONE'] },
      },
    ],
  ])('throws for a life cycle with an error: %s', (error, moves) => {
    expect(() => leaseWith(moves)).toThrow(error)
  })

  test('throws for a prefix that is not three capital letters', () => {
    expect(() => leaseWith({}, 'LE')).toThrow('order type LEASE: prefix: must be three capital letters')
  })

  test('a status that only a correction leaves is final, and no order waits in it', () => {
    const type = leaseWith({ undo })
    expect([type.open, type.final]).toEqual([
      ['OPEN', 'SENT'],
      ['DONE', 'CANCELLED', 'UNDONE'],
    ])
    expect(waitingStatuses(type)).toEqual(['OPEN'])
    expect([bonds.open, bonds.final]).toEqual([
      ['PENDING_APPROVAL', 'PROCESSING'],
      ['COMPLETED', 'RETURNED', 'CANCELLED', 'EXPIRED'],
    ])
  })

  test('the operations of a move have its permission, and those of a correction its reason', () => {
    expect(bonds.decision('approve').policy.permission).toBe('withdrawal:approve')
    expect(bonds.reasonedDecision('giveBack').body.safeParse({}).success).toBe(false)
    expect(() => bonds.decision('cancel')).toThrow("cancel is not an operator's move without a reason")
  })
})
