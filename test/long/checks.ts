import { Client } from 'pg'
import { expect } from 'vitest'
import { runCli } from '../harness/cli.ts'
import type { Bank } from './bank.ts'
import type { Progress } from './customers.ts'
import type { Deployment } from './deployment.ts'
import { changesOf, currencies, toDecimal } from './orders.ts'

const shown = 10
const pageSize = 50_000

/** Prints the first differences only, because there can be a million. */
export function none(differences: readonly unknown[]): void {
  expect(differences.slice(0, shown), `of ${differences.length}`).toEqual([])
}

export async function expectAtMostOnce(deployment: Deployment, bank: Bank, all: readonly Progress[]): Promise<void> {
  const stored = await orderIds(deployment, bank)
  const acknowledged = all.flatMap(({ id }) => id ?? [])
  none(acknowledged.filter((id) => !stored.has(id)))
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  const unanswered = all.filter(({ id, state }) => id === undefined && state === 'open').length
  expect(stored.size).toBeLessThanOrEqual(acknowledged.length + unanswered)
}

export async function expectExactlyOnce(deployment: Deployment, bank: Bank, done: readonly Progress[]): Promise<void> {
  const stored = await orderIds(deployment, bank)
  const executed = new Set(done.flatMap(({ id }) => id ?? []))
  expect(executed.size).toBe(done.length)
  none([...stored].filter((id) => !executed.has(id)))
  none([...executed].filter((id) => !stored.has(id)))
}

/** `funds` are minor units of each currency that each workspace has recharged by card. */
export async function expectBalances(bank: Bank, done: readonly Progress[], funds: bigint): Promise<void> {
  // 0.30 and 2.9 percent.
  const netFunds = funds - 30n - (funds * 29n + 999n) / 1_000n
  const expected = bank.places.map(() => ({ USD: netFunds, EUR: netFunds }))
  for (const { order } of done)
    for (const { place, currency, minor } of changesOf(order)) {
      const balances = expected[place]
      if (balances) balances[currency] += minor
    }
  for (const [index, place] of bank.places.entries())
    for (const currency of currencies) {
      const path = `/wallets/${place.wallets[currency]}/balance`
      const { body } = await bank.call('owner', 'GET', path, { place })
      const availableBalance = toDecimal(expected[index]?.[currency] ?? 0n)
      expect(body.data, `${currency} of workspace ${index}`).toMatchObject({ availableBalance, heldBalance: '0.00' })
    }
}

/** The commands have no time limit for a statement. */
export async function expectVerified({ postgres }: Deployment): Promise<void> {
  for (const name of ['ledger', 'audit']) {
    const { code, out, err } = await runCli([name, 'verify'], {}, { DATABASE_URL: postgres.url })
    expect(code, out + err).toBe(0)
  }
}

/** Without the orders that brought the funds. */
async function orderIds({ postgres }: Deployment, bank: Bank): Promise<Set<string>> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  try {
    const ids = new Set<string>()
    const query = `SELECT biz_id AS id FROM orders WHERE biz_id > $1 ORDER BY biz_id LIMIT ${pageSize}`
    for (let last = '00000000-0000-0000-0000-000000000000'; ; ) {
      const { rows } = await client.query<{ id: string }>(query, [last])
      for (const { id } of rows) ids.add(id)
      const end = rows.at(-1)
      if (end === undefined) break
      last = end.id
    }
    for (const id of bank.places.flatMap(({ funding }) => funding)) ids.delete(id)
    return ids
  } finally {
    await client.end()
  }
}
