import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { type DatabaseTarget, openDatabase } from '../../src/database/index.ts'
import { verifyLedger } from '../../src/ledger/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Attempt, sendRequest, transfer, type User } from './client.ts'

/** The allowed responses to a transfer during a fault. */
const allowed = new Set([0, 200, 409, 502, 503, 504])

async function settle(user: User, { requestId }: Attempt): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const { status, orderId } = await transfer(user, requestId)
    if (orderId !== null) return orderId
    expect(allowed, `while ${requestId} is settled`).toContain(status)
    if (attempt >= 100) throw new Error(`${requestId} cannot be settled: ${status}`)
    await pause(50)
  }
}

/**
 * Each acknowledged order exists once, under its request id. Sends orders without a response again. Returns the number
 * of transfers.
 */
export async function settleAll(user: User, attempts: readonly Attempt[]): Promise<number> {
  for (const { status, requestId } of attempts) expect(allowed, requestId).toContain(status)
  const orders = new Set<string>()
  const queue = [...attempts]
  const hand = async () => {
    for (let attempt = queue.pop(); attempt; attempt = queue.pop()) {
      const id = await settle(user, attempt)
      if (attempt.orderId !== null) expect(id).toBe(attempt.orderId)
      orders.add(id)
    }
  }
  await Promise.all(Array.from({ length: 8 }, hand))
  expect(orders.size).toBe(attempts.length)
  const { body } = await sendRequest(user, 'GET', `/wallets/${developmentIds.mainUsd}/balance`)
  expect(body.data).toMatchObject({
    availableBalance: (10_000 - attempts.length / 100).toFixed(2),
    heldBalance: '0.00',
  })
  return orders.size
}

export type Place = { url: string } | { directory: string }

export function targetOf(place: Place): DatabaseTarget {
  return 'url' in place
    ? {
        kind: 'postgres',
        url: place.url,
        poolSize: 2,
        connectTimeoutMs: 5_000,
        statementTimeoutMs: 30_000,
        lockTimeoutMs: 10_000,
        onConnectionBroken: () => undefined,
      }
    : {
        kind: 'embedded',
        directory: place.directory,
        isDurable: false,
        minimumFreeBytes: 0,
        onDiskFull: () => undefined,
      }
}

/**
 * Checks the store: entries sum to zero, balances equal flows, no available balance is negative, and all transfers are
 * final.
 */
export async function checkBook(place: Place, transfers: number): Promise<void> {
  const store = await openDatabase(targetOf(place))
  try {
    expect(await verifyLedger(store.database)).toBeNull()
    const { rows } = await sql<{ status: string; n: number }>`
      SELECT status, count(*)::int AS n FROM orders WHERE order_type = 'TRANSFER' GROUP BY status`.execute(
      store.database,
    )
    expect(rows).toEqual(transfers === 0 ? [] : [{ status: 'COMPLETED', n: transfers }])
  } finally {
    await store.close()
  }
}
