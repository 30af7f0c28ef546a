import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { approveTransfer, createTransfer, rejectTransfer } from '../../src/banking/transfers/contract.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { refusalOf } from '../banking/world.ts'
import { type Command, initialState, type Outcome, serialize, type Transfer } from './model.ts'
import { everyStore } from './stores.ts'
import { createTestBank, type TestWallet } from './test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const walletCount = 4
const terms = { threshold: 500n, fee: 3n }
const funds = 1_000n

const index = fc.nat({ max: walletCount - 1 })
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('send' as const), from: index, to: index, amount: fc.bigInt(1n, 900n) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('approve' as const, 'reject' as const), nth: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('freeze' as const, 'unfreeze' as const), wallet: index }) },
)
const scenarios = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 3, maxLength: 9 })

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

describe.each(stores)('the ledger on $name', ({ name, database }) => {
  const checker = systemIds.next<'account'>()

  const openBank = async () => {
    const bank = await createTestBank(database, {
      approvalThreshold: { JPY: terms.threshold.toString() },
      fixedFee: { JPY: terms.fee.toString() },
    })
    const { call, clock, ledger } = bank
    const send = async ({ from, to, amount }: Transfer, wallets: TestWallet[]): Promise<string> => {
      const [source, target] = [wallets[from], wallets[to]]
      if (!source || !target) throw new RangeError(`wallet ${from} or ${to}`)
      const ids = { sourceWalletBizId: source.id, targetWalletBizId: target.id }
      const body = { ...ids, amount: amount.toString(), currency: 'JPY' }
      // The threshold applies to the sum of a person, so makers differ.
      return (await call(createTransfer, { as: systemIds.next<'account'>(), workspace: source.workspace, body })).bizId
    }
    const execute = async (command: Command, wallets: TestWallet[]): Promise<Outcome> => {
      let order = ''
      const { kind } = command
      if (kind === 'send') {
        // The contract rejects a transfer to the same wallet.
        if (command.from === command.to) return { command, order, code: 'VALIDATION.INVALID_PARAMETER' }
        const result = send(command, wallets).then((created) => {
          order = created
        })
        return { command, code: await refusalOf(result), order }
      }
      if ('order' in command) {
        const request = { as: checker, params: { order_id: command.order } }
        const result =
          kind === 'approve'
            ? call(approveTransfer, request)
            : call(rejectTransfer, { ...request, body: { reason: 'no' } })
        return { command, order, code: await refusalOf(result) }
      }
      const wallet = wallets[command.wallet]
      if (!wallet) throw new RangeError(`wallet ${command.wallet}`)
      const [from, to] = kind === 'freeze' ? (['ACTIVE', 'FROZEN'] as const) : (['FROZEN', 'ACTIVE'] as const)
      const changed = await ledger.changeWalletStatus({ wallet: wallet.id, from, to, at: clock.now() })
      return { command, order, code: changed ? 'none' : 'STATE.CONFLICT' }
    }
    return { ...bank, execute }
  }

  test('concurrent commands have the effect of some serial order of a plain model', async () => {
    const { clock, ledger, wallet, execute } = await openBank()
    const houseFees = async (): Promise<bigint> => {
      const fees = database.selectFrom('ledger_accounts').where('kind', '=', 'FEE').where('currency', '=', 'JPY')
      return (await fees.select('balance').executeTakeFirst())?.balance ?? 0n
    }
    const property = fc.asyncProperty(scenarios, async (rounds) => {
      const wallets = await Promise.all(Array.from({ length: walletCount }, () => wallet('JPY', funds.toString())))
      const feesBefore = await houseFees()
      let state = initialState(walletCount, funds)
      for (const round of rounds) {
        clock.advance(1)
        const orders = [...state.pending.keys()]
        const commands = round.flatMap((one): Command[] => {
          if (!('nth' in one)) return [one]
          const order = orders[one.nth % Math.max(orders.length, 1)]
          return order === undefined ? [] : [{ kind: one.kind, order }]
        })
        const outcomes = await Promise.all(commands.map((command) => execute(command, wallets)))
        const next = serialize(state, outcomes, terms)
        if (!next) throw new Error(`no serial order explains ${outcomes.map(({ code }) => code)}`)
        state = next
        const balances = await Promise.all(
          wallets.map(({ id, workspace }) => ledger.readBalance({ wallet: id, workspace })),
        )
        expect(balances.map((balance) => balance?.total.minor)).toEqual(state.totals)
        expect(balances.map((balance) => balance?.held.minor)).toEqual(state.held)
      }
      expect((await houseFees()) - feesBefore).toBe(state.fees)
      expect(await ledger.verifyLedger()).toBeNull()
    })
    process.stdout.write(`fast-check seed ${seed} on ${name} (FC_SEED repeats it)\n`)
    await fc.assert(property, { seed, numRuns: 20 })
  })
})
