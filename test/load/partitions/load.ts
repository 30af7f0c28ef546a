import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '../../../src/database/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import type { TestWallet } from '../../ledger/test-bank.ts'

const connections = 2
const everyMs = 10

/** Inserts pairs of entries with all triggers. Latencies are in milliseconds. */
export function startLoad(database: Database, wallets: readonly TestWallet[]) {
  let times: number[] = []
  let isStopped = false
  const run = async (number: number): Promise<void> => {
    const [from, to] = wallets.slice(number * 2)
    if (!from || !to) throw new Error('too few wallets')
    while (!isStopped) {
      const transaction = systemIds.next()
      const before = performance.now()
      await sql`INSERT INTO ledger_entries (account_biz_id, sequence, biz_id, transaction_biz_id, currency, amount,
          balance_after, flow_type, created_at)
        SELECT id::uuid, 0, gen_random_uuid(), ${transaction}::uuid, 'USD', amount, 0, 'TRANSFER', now()
          FROM (VALUES (${from.id}, -1), (${to.id}, 1)) AS entries (id, amount) ORDER BY amount`.execute(database)
      times.push(performance.now() - before)
      await pause(everyMs)
    }
  }
  const running = Promise.all(Array.from({ length: connections }, (_, number) => run(number)))
  // Otherwise a failed measurement would end before it removes its server.
  running.catch(() => undefined)
  return {
    reset: () => {
      times = []
    },
    latencies: () => {
      const sorted = times.toSorted((a, b) => a - b)
      return { count: sorted.length, max: sorted.at(-1) ?? 0, p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0 }
    },
    stop: async () => {
      isStopped = true
      await running
    },
  }
}
