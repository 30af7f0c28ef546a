/* One wallet with recharges and withdrawals. Amounts are cents. */

export const lifeMs = 60_000
export const dayMs = 86_400_000
/** Limits per order and per 24 hours. */
const rechargeTerms = {
  maximum: 10_000n,
  daily: 25_000n,
  fee: (amount: bigint) => 30n + (amount * 29n + 999n) / 1_000n,
}
const withdrawalTerms = { maximum: 10_000n, daily: 15_000n }
export const funds = 20_000n

function freesDailyUsage(status: string): boolean {
  return ['CANCELLED', 'REJECTED', 'FAILED', 'EXPIRED'].includes(status)
}

export interface Order {
  id: string
  type: 'recharge' | 'withdrawal'
  status: string
  cents: bigint
  at: number
}

export class WalletModel {
  readonly orders: Order[] = []
  readonly balance = { total: funds, held: 0n }

  #usedOn(type: Order['type'], now: number): bigint {
    return this.orders
      .filter((order) => order.type === type && !freesDailyUsage(order.status))
      .filter(({ at }) => at > now - dayMs)
      .reduce((sum, each) => sum + each.cents, 0n)
  }

  /** The ledger applies the expiry even if the job has not run. */
  expire(now: number): void {
    for (const order of this.orders)
      if (order.status === 'PENDING_PAYMENT' && now >= order.at + lifeMs) order.status = 'EXPIRED'
  }

  createCode(type: Order['type'], amount: bigint, now: number): string {
    const { maximum, daily } = type === 'recharge' ? rechargeTerms : withdrawalTerms
    if (amount < 100n || amount > maximum) return 'WALLET.LIMIT_EXCEEDED'
    if (type === 'withdrawal' && this.balance.total - this.balance.held < amount) return 'WALLET.INSUFFICIENT_FUNDS'
    return this.#usedOn(type, now) + amount > daily ? 'WALLET.LIMIT_EXCEEDED' : 'none'
  }

  create(order: Order): void {
    this.orders.push(order)
    if (order.type === 'withdrawal') this.balance.held += order.cents
  }

  move(order: Order, to: string, now: number): void {
    // The payment of an expired recharge counts from its confirmation.
    if (order.status === 'EXPIRED') order.at = now
    order.status = to
    if (order.type === 'recharge')
      this.balance.total += to === 'COMPLETED' ? order.cents - rechargeTerms.fee(order.cents) : 0n
    else if (to !== 'PROCESSING') this.balance.held -= order.cents
    if (order.type === 'withdrawal' && to === 'COMPLETED') this.balance.total -= order.cents
  }
}
