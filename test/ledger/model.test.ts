import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { approveTransfer, createTransfer, rejectTransfer } from '../../src/domains/transfers/contract.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { refusalOf } from '../domains/world.ts'
import { type Command, explained, type Outcome, opened, type Transfer } from './model.ts'
import { everyStore } from './stores.ts'
import { createTestBank, type TestWallet } from './test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const wallets = 4
const terms = { limit: 500n, fee: 3n }
const start = 1_000n

const index = fc.nat({ max: wallets - 1 })
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('send' as const), from: index, to: index, amount: fc.bigInt(1n, 900n) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('approve' as const, 'reject' as const), nth: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('freeze' as const, 'unfreeze' as const), wallet: index }) },
)
/** What is asked for at once; then what is asked for once all of that is answered. */
const courses = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 3, maxLength: 9 })

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

describe.each(stores)('the book on $name', ({ name, database }) => {
  const maker = systemIds.next<'account'>()
  const checker = systemIds.next<'account'>()

  const openBank = async () => {
    const bank = await createTestBank(database, {
      approvalThreshold: { JPY: terms.limit.toString() },
      fixedFee: { JPY: terms.fee.toString() },
    })
    const { call, clock, ledger } = bank
    const send = async ({ from, to, amount }: Transfer, real: TestWallet[]): Promise<string> => {
      const [source, target] = [real[from], real[to]]
      if (!source || !target) throw new RangeError(`wallet ${from} or ${to}`)
      const ends = { sourceWalletBizId: source.id, targetWalletBizId: target.id }
      const body = { ...ends, amount: amount.toString(), currency: 'JPY' }
      return (await call(createTransfer, { as: maker, workspace: source.workspace, body })).bizId
    }
    const execute = async (command: Command, real: TestWallet[]): Promise<Outcome> => {
      let order = ''
      const { kind } = command
      if (kind === 'send') {
        // The contract itself refuses a transfer to where it comes from.
        if (command.from === command.to) return { command, order, answer: 'VALIDATION.INVALID_PARAMETER' }
        const sending = send(command, real).then((made) => {
          order = made
        })
        return { command, answer: await refusalOf(sending), order }
      }
      if ('order' in command) {
        const asking = { as: checker, params: { order_id: command.order } }
        const deciding =
          kind === 'approve'
            ? call(approveTransfer, asking)
            : call(rejectTransfer, { ...asking, body: { reason: 'no' } })
        return { command, order, answer: await refusalOf(deciding) }
      }
      const wallet = real[command.wallet]
      if (!wallet) throw new RangeError(`wallet ${command.wallet}`)
      const [from, to] = kind === 'freeze' ? (['ACTIVE', 'FROZEN'] as const) : (['FROZEN', 'ACTIVE'] as const)
      const moved = await ledger.changeWalletStatus({ wallet: wallet.id, from, to, at: clock.now() })
      return { command, order, answer: moved ? 'none' : 'STATE.CONFLICT' }
    }
    return { ...bank, execute }
  }

  test('any course of commands, several at once, leaves what a plain model has after them in some order', async () => {
    const { clock, ledger, wallet, execute } = await openBank()
    const houseFees = async (): Promise<bigint> => {
      const fees = database.selectFrom('ledger_accounts').where('kind', '=', 'FEE').where('currency', '=', 'JPY')
      return (await fees.select('balance').executeTakeFirst())?.balance ?? 0n
    }
    const course = fc.asyncProperty(courses, async (rounds) => {
      const real = await Promise.all(Array.from({ length: wallets }, () => wallet('JPY', start.toString())))
      const feesBefore = await houseFees()
      let state = opened(wallets, start)
      for (const round of rounds) {
        clock.advance(1)
        const orders = [...state.pending.keys()]
        const commands = round.flatMap((one): Command[] => {
          if (!('nth' in one)) return [one]
          const order = orders[one.nth % Math.max(orders.length, 1)]
          return order === undefined ? [] : [{ kind: one.kind, order }]
        })
        const answered = await Promise.all(commands.map((command) => execute(command, real)))
        const next = explained(state, answered, terms)
        if (!next) throw new Error(`in no order are these the answers: ${answered.map(({ answer }) => answer)}`)
        state = next
        const balances = await Promise.all(
          real.map(({ id, workspace }) => ledger.readBalance({ wallet: id, workspace })),
        )
        expect(balances.map((balance) => balance?.total.minor)).toEqual(state.owned)
        expect(balances.map((balance) => balance?.held.minor)).toEqual(state.held)
      }
      expect((await houseFees()) - feesBefore).toBe(state.fees)
      expect(await ledger.verifyLedger()).toBeNull()
    })
    process.stdout.write(`fast-check seed ${seed} on ${name} (FC_SEED repeats it)\n`)
    await fc.assert(course, { seed, numRuns: 20 })
  })
})
