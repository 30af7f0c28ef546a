import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { eventKey } from './arrivals.ts'
import { openBank } from './bank.ts'
import { expectAtMostOnce, expectBalances, expectExactlyOnce, expectVerified, none } from './checks.ts'
import { type Progress, perform } from './customers.ts'
import type { Deployment } from './deployment.ts'
import { apply, scheduleFaults } from './faults.ts'
import { readFeed } from './feed.ts'
import { lastEventOf, nextOrder, type Order, toDecimal } from './orders.ts'
import { createRandom } from './random.ts'
import { receiveWebhooks } from './webhooks.ts'

export interface LongRun {
  seed: number
  orders: number
  faults: number
  clients: number
  places: number
  report(line: string): void
}

/** Minor units of each currency in each workspace. The orders cannot exhaust them. */
const funds = 99_000_000n

/** Longer than the pause after a second attempt at a webhook that failed. */
const silenceMs = 420_000
/** Each order in doubt is sent again at the end, so make few while a gateway is down. */
const pauseAfterDoubtMs = 400

/**
 * Runs the orders of the seed against the faults of the seed, settles the orders that are in doubt, and compares the
 * store with a model.
 */
export async function runLong(deployment: Deployment, run: LongRun): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const random = createRandom(run.seed)
  const bank = await openBank(deployment, run.places, toDecimal(funds))
  stack.defer(() => bank.close())
  const feed = await readFeed(bank)
  stack.defer(() => feed.stop())
  const [subscribed] = bank.places
  if (!subscribed) throw new Error('no workspace')
  const webhooks = await receiveWebhooks(bank, subscribed)
  stack.defer(() => webhooks.close())
  run.report('the bank is open')
  const all: Progress[] = []
  const inTurn = async (): Promise<void> => {
    while (all.length < run.orders) {
      const progress: Progress = {
        order: nextOrder(random, run.places),
        id: undefined,
        quote: undefined,
        state: 'open',
      }
      all.push(progress)
      // Half of the customers give up after one try.
      await perform(bank, progress, random.next() < 0.5 ? 1 : 5)
      if (progress.state === 'open') await pause(pauseAfterDoubtMs)
    }
  }
  const faulting = async (): Promise<void> => {
    for (const fault of scheduleFaults(createRandom(run.seed + 1), run.orders, run.faults)) {
      while (all.length < fault.after) await pause(20)
      run.report(`${fault.after} orders: ${fault.kind}, gateway ${fault.gateway}, ${fault.ms} ms`)
      await apply(fault, deployment)
    }
  }
  await Promise.all([...Array.from({ length: run.clients }, inTurn), faulting()])
  const open = all.filter(({ state }) => state === 'open')
  run.report(`${all.length} orders, ${open.length} in doubt`)
  await expectAtMostOnce(deployment, bank, all)
  const settling = open.values()
  const settleInTurn = async (): Promise<void> => {
    for (const progress of settling) await perform(bank, progress, 100)
  }
  await Promise.all(Array.from({ length: run.clients }, settleInTurn))
  none(all.filter(({ state }) => state === 'open'))
  const done = all.filter(({ state }) => state === 'done')
  run.report(`${done.length} executed, ${all.length - done.length} refused`)
  await expectExactlyOnce(deployment, bank, done)
  await expectBalances(bank, done, funds)
  run.report('orders and balances are correct')
  const keys = done.map(eventKeyOf)
  await feed.arrivals.settled(keys, silenceMs)
  expect([feed.arrivals.repeated.size, feed.arrivals.mixed.size]).toEqual([0, 0])
  none(keys.filter((key) => feed.arrivals.count(key) !== 1))
  run.report('the feed is complete')
  const subscribedKeys = done.filter(({ order }) => concerns(order, bank.places.indexOf(subscribed))).map(eventKeyOf)
  await webhooks.arrivals.settled(subscribedKeys, silenceMs)
  none(webhooks.wrong)
  none([...webhooks.arrivals.mixed])
  none(subscribedKeys.filter((key) => webhooks.arrivals.count(key) !== 1))
  run.report(`${subscribedKeys.length} orders by webhook, ${webhooks.arrivals.repeated.size} events repeated`)
  await expectVerified(deployment)
  run.report('the ledger and the audit log verify')
}

/** An event can concern two workspaces, each of which receives it. */
function concerns(order: Order, place: number): boolean {
  return order.kind === 'transfer' ? order.from === place || order.to === place : order.at === place
}

function eventKeyOf({ order, id }: Progress): string {
  return eventKey(lastEventOf(order), String(id))
}
