/* A wallet, what is paid into it and what is paid out of it, in plain numbers. */

export const lifeMs = 60_000
export const dayMs = 86_400_000
/** In cents. What the two channels take in one order and in one day, and what they keep of it. */
const inwards = { most: 10_000n, daily: 25_000n, fee: (amount: bigint) => 30n + (amount * 29n + 999n) / 1_000n }
const outwards = { most: 10_000n, daily: 15_000n }
export const funds = 20_000n

const isNothing = (status: string): boolean => ['CANCELLED', 'REJECTED', 'FAILED', 'EXPIRED'].includes(status)

export interface Order {
  id: string
  of: 'in' | 'out'
  status: string
  cents: bigint
  at: number
}

/** What a course of commands makes of the wallet. */
export const plainWallet = () => {
  const orders: Order[] = []
  const balance = { total: funds, held: 0n }

  const usedOn = (of: Order['of'], now: number): bigint => {
    const counts = ({ at, status }: Order) => Math.floor(at / dayMs) === Math.floor(now / dayMs) && !isNothing(status)
    return orders.filter((order) => order.of === of && counts(order)).reduce((sum, each) => sum + each.cents, 0n)
  }

  return {
    orders,
    balance,

    /** What has waited too long has ended, whether or not a job has written it down. */
    timeIs: (now: number): void => {
      for (const order of orders)
        if (order.status === 'PENDING_PAYMENT' && now >= order.at + lifeMs) order.status = 'EXPIRED'
    },

    /** What an order is refused with; `none` where it is not. */
    refusal: (of: Order['of'], amount: bigint, now: number): string => {
      const { most, daily } = of === 'in' ? inwards : outwards
      if (amount < 100n || amount > most) return 'WALLET.LIMIT_EXCEEDED'
      if (of === 'out' && balance.total - balance.held < amount) return 'WALLET.INSUFFICIENT_FUNDS'
      return usedOn(of, now) + amount > daily ? 'WALLET.LIMIT_EXCEEDED' : 'none'
    },

    make: (order: Order): void => {
      orders.push(order)
      if (order.of === 'out') balance.held += order.cents
    },

    move: (order: Order, to: string): void => {
      order.status = to
      if (order.of === 'in') balance.total += to === 'COMPLETED' ? order.cents - inwards.fee(order.cents) : 0n
      else if (to !== 'PROCESSING') balance.held -= order.cents
      if (order.of === 'out' && to === 'COMPLETED') balance.total -= order.cents
    },
  }
}
