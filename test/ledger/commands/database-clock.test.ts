import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { readBalance } from '../../../src/banking/wallets/service.ts'
import { addMs, type Clock, hours, type Money } from '../../../src/kernel/index.ts'
import { createLedger } from '../../../src/ledger/index.ts'
import { systemClock, systemIds } from '../../../src/platform/runtime/index.ts'
import { types } from '../../banking/world.ts'
import { needsPostgres } from '../../harness/needs.ts'
import { lockWaits, postgresStore } from '../stores.ts'
import { createTestBank } from '../test-bank.ts'

const store = await postgresStore()
afterAll(() => store?.close())

const seven: Money = { minor: 700n, currency: 'USD' }
const fast: Clock = { now: () => addMs(systemClock.now(), hours(8)) }

describe('entries have the time of the database', needsPostgres(store), () => {
  const replica = (clock: Clock) => {
    if (!store) throw new Error('no PostgreSQL')
    return createLedger({ database: store.database, clock, ids: systemIds, types, usesDatabaseClock: true })
  }
  const newWallet = async () => {
    if (!store) throw new Error('no PostgreSQL')
    const bank = await createTestBank(store.database)
    const { id, workspace } = await bank.wallet('USD', '100.00')
    return { wallet: id, workspace }
  }

  test('wallets.readBalance 200: a command of a replica that is 8 h fast changes the balance now, not in 8 h', async () => {
    const scope = await newWallet()
    await replica(fast).fundWallet({ ...scope, amount: seven, actor: null })
    await pause(5)
    const { balance } = (await replica(systemClock).readBalanceAt(scope, systemClock.now())) ?? {}
    expect(balance?.total.minor).toBe(10_700n)
    const before = await replica(systemClock).readBalanceAt(scope, addMs(systemClock.now(), -60_000))
    expect(before?.balance.total.minor).toBe(10_000n)
  })

  test('wallets.readBalance 200: a past balance does not change after it was read', async () => {
    const scope = await newWallet()
    const ledger = replica(systemClock)
    if (!store) throw new Error('no PostgreSQL')
    const locked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    const holder = store.database.transaction().execute(async (tx) => {
      await sql`SELECT FROM ledger_accounts WHERE biz_id = ${scope.wallet} FOR UPDATE`.execute(tx)
      locked.resolve()
      await release.promise
    })
    await locked.promise
    const funding = ledger.fundWallet({ ...scope, amount: seven, actor: null })
    await expect.poll(() => lockWaits(store.database)).toBe(1)
    const at = systemClock.now()
    await pause(5)
    const reading = ledger.readBalanceAt(scope, at)
    await expect.poll(() => lockWaits(store.database)).toBe(2)
    release.resolve()
    const [read] = await Promise.all([reading, funding, holder])
    if (!read) throw new Error('no balance')
    expect(read.asOf).toBeLessThanOrEqual(at)
    expect(await ledger.readBalanceAt(scope, read.asOf)).toEqual(read)
    expect((await ledger.readBalance(scope))?.total.minor).toBe(10_700n)
  })

  test('wallets.readBalance 200: asOf is earlier than an instant that is not settled yet', async () => {
    const scope = await newWallet()
    const at = addMs(systemClock.now(), hours(1))
    const read = await replica(systemClock).readBalanceAt(scope, at)
    expect(read?.asOf).toBeLessThan(at)
  })
  test('wallets.readBalance 200: asOf is settled for an instant ahead of a process whose clock is fast', async () => {
    const scope = await newWallet()
    const ports = { ledger: replica(fast), clock: fast }
    const { balance, asOf } = await readBalance(ports, { ...scope, at: addMs(fast.now(), 1) })
    expect(asOf).toBeLessThanOrEqual(systemClock.now())
    await replica(systemClock).fundWallet({ ...scope, amount: seven, actor: null })
    expect(await readBalance(ports, { ...scope, at: asOf })).toEqual({ balance, asOf })
  })
})
