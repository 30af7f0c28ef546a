import { setTimeout as pause } from 'node:timers/promises'
import type { Bank, Person } from './bank.ts'
import { type Order, toDecimal } from './orders.ts'

/** An order and how far it has come. */
export interface Progress {
  order: Order
  /** Undefined until the creation is acknowledged. */
  id: string | undefined
  quote: string | undefined
  /** `open` is in doubt: no answer reports whether a step was executed. */
  state: 'open' | 'done' | 'refused'
}

/** Answers that leave open whether a command was executed. 401 is a clock that was shifted, or an expired token. */
const inDoubt: ReadonlySet<number> = new Set([0, 401, 500, 502, 503, 504])
/** Refusals of an order, by code. Any other refusal is a defect. */
const refusals: ReadonlySet<string> = new Set([
  'WALLET.INSUFFICIENT_FUNDS',
  'EXCHANGE.QUOTE_UNUSABLE',
  'EXCHANGE.RATE_UNAVAILABLE',
])

class InDoubt extends Error {}
class Refused extends Error {}

/**
 * Takes an order through all its steps. Repeats a step with the same request id up to `attempts` times. May be called
 * again for an order that is open.
 */
export async function perform(bank: Bank, progress: Progress, attempts: number): Promise<void> {
  const { order } = progress
  const step = async (by: Person, path: string, body?: unknown): Promise<{ bizId: string }> => {
    const place = bank.places[order.kind === 'transfer' ? order.from : order.at]
    const key = stepKey(order.key, path)
    for (let attempt = 1; ; attempt++) {
      const {
        status,
        text,
        body: answer,
      } = await bank.call(by, 'POST', path, {
        key,
        ...(body !== undefined && { body }),
        ...(by === 'owner' && place && { place }),
      })
      if (status === 200) return answer.data
      const code: unknown = answer?.code
      if (status === 422 && typeof code === 'string' && refusals.has(code)) throw new Refused(code)
      if (!inDoubt.has(status) && code !== 'REQUEST.IN_PROGRESS') throw new Error(`${path}: ${status} ${text}`)
      if (attempt >= attempts) throw new InDoubt(path)
      await pause(100)
    }
  }
  try {
    await runSteps(bank, progress, attempts, step)
    progress.state = 'done'
  } catch (error) {
    if (error instanceof Refused) progress.state = 'refused'
    else if (!(error instanceof InDoubt)) throw error
  }
}

type Step = (by: Person, path: string, body?: unknown) => Promise<{ bizId: string }>

async function runSteps(bank: Bank, progress: Progress, attempts: number, step: Step): Promise<void> {
  const { order } = progress
  const amount = toDecimal(order.amount)
  switch (order.kind) {
    case 'transfer': {
      const body = {
        sourceWalletBizId: bank.places[order.from]?.wallets[order.currency],
        targetWalletBizId: bank.places[order.to]?.wallets[order.currency],
        amount,
        currency: order.currency,
      }
      progress.id = (await step('owner', '/transfer/command/create', body)).bizId
      return
    }
    case 'exchange': {
      const target = order.currency === 'USD' ? 'EUR' : 'USD'
      progress.quote ??= await quoteOf(bank, order.at, order.currency, target, amount, attempts)
      progress.id = (await step('owner', '/exchanges', { quoteBizId: progress.quote })).bizId
      return
    }
    case 'recharge': {
      const walletBizId = bank.places[order.at]?.wallets[order.currency]
      const body = { walletBizId, channelCode: `CARD_${order.currency}`, amount }
      progress.id = (await step('owner', '/recharges', body)).bizId
      if (order.course === 'complete')
        await step('operator', `/recharges/${progress.id}/confirm`, { externalReference: order.key })
      else await step('owner', `/recharges/${progress.id}/cancel`, { cancelReason: 'changed my mind' })
      return
    }
    case 'payout': {
      const place = bank.places[order.at]
      const [walletBizId, withdrawalChannelBizId] = [
        place?.wallets[order.currency],
        place?.payoutAccounts[order.currency],
      ]
      progress.id = (await step('owner', '/withdrawals', { walletBizId, withdrawalChannelBizId, amount })).bizId
      const path = `/withdrawals/${progress.id}`
      const reason = { reason: 'the account is closed' }
      if (order.course === 'cancel') return void (await step('owner', `${path}/cancel`))
      if (order.course === 'reject') return void (await step('operator', `${path}/reject`, reason))
      await step('checker', `${path}/approve`)
      if (order.course === 'fail') return void (await step('operator', `${path}/fail`, reason))
      await step('operator', `${path}/complete`, { externalReference: order.key })
      if (order.course === 'return') await step('checker', `${path}/return`, reason)
    }
  }
}

/** A quote changes nothing, so it needs no request id. */
async function quoteOf(
  bank: Bank,
  at: number,
  sourceCurrency: string,
  targetCurrency: string,
  amount: string,
  attempts: number,
): Promise<string> {
  const place = bank.places[at]
  const body = { sourceCurrency, targetCurrency, amount, fixedSide: 'SOURCE' }
  for (let attempt = 1; ; attempt++) {
    const answer = await bank.call('owner', 'POST', '/exchanges/quote', { body, ...(place && { place }) })
    if (answer.status === 200) return answer.body.data.quoteBizId
    if (attempt >= attempts) throw new InDoubt('quote')
    await pause(100)
  }
}

/** One id per step, which a repetition reuses. */
function stepKey(key: string, path: string): string {
  return `${key}-${path.split('/').at(-1)}`
}
