import type { Random } from './random.ts'

export const currencies = ['USD', 'EUR'] as const
export type Currency = (typeof currencies)[number]

/** What happens to an order after it was created. */
export type Course = 'complete' | 'cancel' | 'reject' | 'fail' | 'return'

/** Numbers are minor units. A place is the index of a workspace. */
export type Order =
  | { kind: 'transfer'; key: string; from: number; to: number; currency: Currency; amount: bigint }
  | { kind: 'exchange'; key: string; at: number; currency: Currency; amount: bigint }
  | { kind: 'recharge'; key: string; at: number; currency: Currency; amount: bigint; course: Course }
  | { kind: 'payout'; key: string; at: number; currency: Currency; amount: bigint; course: Course }

/** In percent, so that most orders are transfers, as in a bank. */
const shares = { transfer: 70, exchange: 12, recharge: 9 } as const

export function nextOrder(random: Random, places: number): Order {
  const [key, at, currency] = [random.uuid(), random.between(0, places - 1), random.pick(currencies)]
  const share = random.between(1, 100)
  const amount = BigInt(random.between(1, 500))
  if (share <= shares.transfer) {
    const to = (at + random.between(1, places - 1)) % places
    return { kind: 'transfer', key, from: at, to, currency, amount }
  }
  if (share <= shares.transfer + shares.exchange) return { kind: 'exchange', key, at, currency, amount: amount + 100n }
  const larger = amount + 1_000n
  return share <= shares.transfer + shares.exchange + shares.recharge
    ? { kind: 'recharge', key, at, currency, amount: larger, course: random.pick(['complete', 'complete', 'cancel']) }
    : {
        ...{ kind: 'payout', key, at, currency, amount: larger },
        course: random.pick(['complete', 'complete', 'return', 'fail', 'reject', 'cancel']),
      }
}

/** The configuration whose fees the model repeats. */
export const moneySettings = {
  separationOfDuties: { enabled: true, from: { USD: '500.00', EUR: '500.00' } },
  transferFee: { USD: '0.03' },
  exchange: {
    spread: '0.005',
    feeRate: '0.001',
    quoteLifeMs: 600_000,
    rates: [{ source: 'USD', target: 'EUR', rate: '0.9215' }],
    liquidity: { USD: '100000000.00', EUR: '100000000.00' },
  },
  recharge: {
    channels: currencies.map((currency) => ({
      ...{ channelCode: `CARD_${currency}`, channelName: `Card (${currency})`, channelType: 'CARD', currency },
      ...{ minAmount: '5.00', maxAmount: '1000000.00', fixedFee: '0.30', feeRate: '0.029' },
      ...{ proofRequired: false, enabled: true },
    })),
  },
  withdrawal: {
    payouts: currencies.map((currency) => ({
      ...{ channelType: 'BANK', currency, minAmount: '10.00', maxAmount: '50000.00', fixedFee: '1.00', feeRate: '0' },
    })),
  },
}

export interface Change {
  place: number
  currency: Currency
  minor: bigint
}

/** The effect of an order that was executed, in plain arithmetic. */
export function changesOf(order: Order): Change[] {
  const { currency, amount } = order
  switch (order.kind) {
    case 'transfer': {
      const fee = currency === 'USD' ? 3n : 0n
      return [
        { place: order.from, currency, minor: -amount - fee },
        { place: order.to, currency, minor: amount },
      ]
    }
    case 'exchange': {
      const fee = roundUp(amount, 1_000n)
      // The rate is 0.9215, less a spread of half a percent.
      const received =
        currency === 'USD' ? (amount * 9_215n * 995n) / 10_000_000n : (amount * 10_000n * 995n) / 9_215_000n
      return [
        { place: order.at, currency, minor: -amount - fee },
        { place: order.at, currency: currency === 'USD' ? 'EUR' : 'USD', minor: received },
      ]
    }
    case 'recharge':
      return order.course === 'complete'
        ? [{ place: order.at, currency, minor: amount - 30n - roundUp(amount * 29n, 1_000n) }]
        : []
    case 'payout':
      return order.course === 'complete' ? [{ place: order.at, currency, minor: -amount }] : []
  }
}

const payoutEnds = {
  complete: 'withdrawal.completed',
  cancel: 'withdrawal.cancelled',
  reject: 'withdrawal.rejected',
  fail: 'withdrawal.failed',
  return: 'withdrawal.returned',
} as const

export const lastEvents: readonly string[] = [
  ...['transfer.completed', 'exchange.completed', 'recharge.completed', 'recharge.cancelled'],
  ...Object.values(payoutEnds),
]

/** The type of the last event of an executed order. */
export function lastEventOf(order: Order): string {
  switch (order.kind) {
    case 'transfer':
    case 'exchange':
      return `${order.kind}.completed`
    case 'recharge':
      return order.course === 'complete' ? 'recharge.completed' : 'recharge.cancelled'
    case 'payout':
      return payoutEnds[order.course]
  }
}

export function toDecimal(minor: bigint): string {
  const digits = (minor < 0n ? -minor : minor).toString().padStart(3, '0')
  return `${minor < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

function roundUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor - 1n) / divisor
}
