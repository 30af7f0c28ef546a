import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { approveTransfer, createTransfer, rejectTransfer } from '../../src/contract/transfers.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { refusalOf } from '../domains/world.ts'
import { createBook } from './book.ts'
import { embeddedStore } from './stores.ts'

const store = await embeddedStore()
afterAll(() => store.close())

const wallets = 4
const limit = 500n
const fee = 3n
const start = 1_000n

const index = fc.nat({ max: wallets - 1 })
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('send' as const), from: index, to: index, amount: fc.bigInt(1n, 900n) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('approve' as const, 'reject' as const), nth: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('freeze' as const), wallet: index }) },
)

interface Pending {
  from: number
  to: number
  amount: bigint
}

/** The rules in plain numbers, written without the ledger: what each wallet owns, holds, and whether it is frozen. */
class Model {
  owned = Array.from({ length: wallets }, () => start)
  held = Array.from({ length: wallets }, () => 0n)
  frozen = Array.from({ length: wallets }, () => false)
  fees = 0n

  available(i: number): bigint {
    return (this.owned[i] ?? 0n) - (this.held[i] ?? 0n)
  }
  change(list: bigint[], i: number, by: bigint): void {
    list[i] = (list[i] ?? 0n) + by
  }
  pay({ from, to, amount }: Pending): void {
    this.change(this.owned, from, -amount - fee)
    this.change(this.owned, to, amount)
    this.fees += fee
  }
  send(asked: Pending): string {
    if (asked.from === asked.to) return 'VALIDATION.INVALID_PARAMETER'
    if (this.frozen[asked.from] || this.frozen[asked.to]) return 'WALLET.NOT_ACTIVE'
    if (this.available(asked.from) < asked.amount + fee) return 'WALLET.INSUFFICIENT_FUNDS'
    if (asked.amount >= limit) this.change(this.held, asked.from, asked.amount + fee)
    else this.pay(asked)
    return 'none'
  }
  approve(asked: Pending): string {
    if (this.frozen[asked.from] || this.frozen[asked.to]) return 'WALLET.NOT_ACTIVE'
    this.reject(asked)
    this.pay(asked)
    return 'none'
  }
  reject({ from, amount }: Pending): void {
    this.change(this.held, from, -amount - fee)
  }
}

test('any course of commands leaves the balances that a plain model has', { timeout: 120_000 }, async () => {
  const maker = systemIds.next<'account'>()
  const checker = systemIds.next<'account'>()
  const book = await createBook(store.database, {
    approvalThreshold: { JPY: limit.toString() },
    fixedFee: { JPY: fee.toString() },
  })
  const houseFees = async (): Promise<bigint> => {
    const fees = store.database.selectFrom('ledger_accounts').where('kind', '=', 'FEE').where('currency', '=', 'JPY')
    return (await fees.select('balance').executeTakeFirst())?.balance ?? 0n
  }
  const course = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
    const model = new Model()
    const feesBefore = await houseFees()
    const real = await Promise.all(Array.from({ length: wallets }, () => book.wallet('JPY', start.toString())))
    const at = (i: number) => {
      const wallet = real[i]
      if (!wallet) throw new RangeError(`wallet ${i}`)
      return wallet
    }
    const pending: (Pending & { id: string })[] = []
    for (const one of steps) {
      book.clock.advance(1)
      if (one.kind === 'send') {
        const { id: sourceWalletBizId, workspace } = at(one.from)
        let id = ''
        const sent = book
          .ask(createTransfer, {
            as: maker,
            workspace,
            body: {
              sourceWalletBizId,
              targetWalletBizId: at(one.to).id,
              amount: one.amount.toString(),
              currency: 'JPY',
            },
          })
          .then((order) => {
            id = order.bizId
          })
        const expected = model.send(one)
        // The contract's own check of a transfer to itself comes before the domain's, and is made by its schema.
        const told = await refusalOf(sent).catch((error: unknown) => {
          if (error instanceof z.ZodError) return 'VALIDATION.INVALID_PARAMETER'
          throw error
        })
        expect(told).toBe(expected)
        if (expected === 'none' && one.amount >= limit) pending.push({ ...one, id })
      } else if (one.kind === 'freeze') {
        const from = model.frozen[one.wallet] ? 'FROZEN' : 'ACTIVE'
        const to = from === 'ACTIVE' ? 'FROZEN' : 'ACTIVE'
        model.frozen[one.wallet] = to === 'FROZEN'
        expect(await book.ledger.moveWallet({ wallet: at(one.wallet).id, from, to, at: book.clock.now() })).toBe(true)
      } else {
        const chosen = pending[one.nth % Math.max(pending.length, 1)]
        if (!chosen) continue
        const asking = { as: checker, params: { order_id: chosen.id } }
        if (one.kind === 'approve') {
          const expected = model.approve(chosen)
          expect(await refusalOf(book.ask(approveTransfer, asking))).toBe(expected)
          if (expected !== 'none') continue
        } else {
          model.reject(chosen)
          await book.ask(rejectTransfer, { ...asking, body: { reason: 'no' } })
        }
        pending.splice(pending.indexOf(chosen), 1)
      }
    }
    expect((await houseFees()) - feesBefore).toBe(model.fees)
    for (let i = 0; i < wallets; i++) {
      const balance = await book.ledger.readBalance({ wallet: at(i).id, workspace: at(i).workspace })
      expect([balance?.total.minor, balance?.held.minor]).toEqual([model.owned[i], model.held[i]])
    }
    expect(await book.ledger.verifyBook()).toBeNull()
  })
  const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(course, { seed, numRuns: 40 })
})
