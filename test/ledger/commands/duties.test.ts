import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteFormerMemberships } from '../../../src/banking/members/membership-store.ts'
import { collectLedgerTypes, type LedgerTypes } from '../../../src/contract/ledger/ledger-types.ts'
import { insertAccount } from '../../../src/identity/accounts/store.ts'
import {
  type AccountId,
  type AccountStatus,
  type OrderId,
  type Portal,
  Refusal,
  toDate,
  type WorkspaceId,
} from '../../../src/kernel/index.ts'
import * as contract from '../../../src/ledger/contract.ts'
import {
  createLedger,
  type Ledger,
  type OrderMove,
  operatorApproval,
  operatorDecision,
  type SeparationOfDuties,
} from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'

const ledgerTypes = {
  orders: { CLAIM: { prefix: 'CLM', open: ['REQUESTED', 'APPROVED'], final: ['PAID', 'CANCELLED'] } },
  flowTypes: {},
  houseAccounts: [],
} as const satisfies LedgerTypes

declare global {
  interface PorticoLedger {
    testedClaims: typeof ledgerTypes
  }
}

const types = collectLedgerTypes({ ledger: contract, claims: { ledgerTypes } })
const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const denied = 'ACCESS.PERMISSION_DENIED'
function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error) => {
      if (error instanceof Refusal) return error.code
      throw error
    },
  )
}

describe.each(stores)('separation of duties on $name', ({ database }) => {
  let bank: TestBank
  let wallet: TestWallet
  let maker: AccountId
  let [first, second]: AccountId[] = []

  const ledgerWith = (separationOfDuties?: SeparationOfDuties) =>
    createLedger({
      database,
      clock: bank.clock,
      ids: systemIds,
      types,
      ...(separationOfDuties && { separationOfDuties }),
    })

  const account = async (email: string, portal: Portal = 'SYSTEM', status: AccountStatus = 'ACTIVE') => {
    const id = systemIds.next<'account'>()
    const at = bank.clock.now()
    const person = { email, emailVerifiedAt: at, name: 'Test', phone: '', passwordHash: null }
    const home = { institutionId: systemIds.next(), language: 'en', timezone: 'UTC', country: 'US' }
    const rights = { maxSessions: 5, operatorPermissions: [] }
    await insertAccount(database, { id, portal, status, ...person, ...home, ...rights }, at)
    return id
  }
  const newEmail = () => `${systemIds.next()}@example.test`
  const join = async (member: AccountId, workspace: WorkspaceId) => {
    const at = toDate(bank.clock.now())
    const role = systemIds.next<'role'>()
    const dates = { createdAt: at, updatedAt: at }
    const named = { roleName: 'Owner', description: '', roleType: 'OWNER' } as const
    await database
      .insertInto('roles')
      .values({ bizId: role, workspaceBizId: workspace, permissionCodes: [], ...named, ...dates })
      .execute()
    const membership = { workspaceBizId: workspace, accountBizId: member, roleBizId: role, ...dates }
    await database
      .insertInto('memberships')
      .values({ ...membership, joinSource: 'CREATION', isDefault: false, policyConfig: null })
      .execute()
  }

  beforeAll(async () => {
    bank = await createTestBank(database)
    await ledgerWith().registerTypes()
    wallet = await bank.wallet('USD', '1000.00')
    maker = await account(newEmail(), 'CONSUMER')
    ;[first, second] = [await account(newEmail()), await account(newEmail())]
  })

  const party = ({ id, workspace, currency }: TestWallet, label = 'source') =>
    ({ label, wallet: id, workspace, currency, active: true, currencyField: 'currency' }) as const
  const request = async (amount = '5000', actor: AccountId | null = maker, parties = [party(wallet)]) => {
    const { workspaceBizId, bizId } = await ledgerWith().execute({
      actor,
      parties,
      create: {
        workspace: wallet.workspace,
        type: 'CLAIM',
        data: { amount, currency: 'USD' },
        steps: [{ status: 'REQUESTED' }],
      },
      holds: [{ account: 'source', amount: 1n }],
    })
    expect(workspaceBizId).toBe(wallet.workspace)
    return bizId
  }
  const decide = (ledger: Ledger, actor: AccountId | undefined, move: OrderMove) => {
    if (actor === undefined) throw new Error('no account')
    return codeOf(ledger.execute({ actor, parties: [], move }))
  }
  const approval = (id: OrderId, more: Partial<OrderMove> = {}): OrderMove => ({
    ...operatorApproval('CLAIM', id),
    expected: ['REQUESTED'],
    steps: [{ status: 'APPROVED' }],
    ...more,
  })
  const payment = (id: OrderId): OrderMove => ({
    ...operatorApproval('CLAIM', id),
    expected: ['APPROVED'],
    steps: [{ status: 'PAID' }],
    endHolds: 'CAPTURED',
  })
  const cancellation = (id: OrderId, from: string): OrderMove => ({
    ...operatorDecision('CLAIM', id),
    expected: [from],
    steps: [{ status: 'CANCELLED' }],
    endHolds: 'RELEASED',
  })

  test('execute 403: the operator of one decision does not take the next one; another operator does', async () => {
    const ledger = ledgerWith()
    const id = await request()
    expect(await decide(ledger, first, approval(id))).toBe('none')
    expect(await decide(ledger, first, approval(id))).toBe('STATE.CONFLICT')
    expect(await decide(ledger, first, cancellation(id, 'APPROVED'))).toBe(denied)
    expect(await decide(ledger, second, cancellation(id, 'APPROVED'))).toBe('none')
  })

  test('execute 403: two accounts with sub-addresses of one mailbox are one person', async () => {
    const ledger = ledgerWith()
    const name = systemIds.next()
    const [plain, tagged] = [
      await account(`${name}@example.test`),
      await account(`${name.toUpperCase()}+a@Example.test`),
    ]
    const id = await request()
    expect(await decide(ledger, plain, approval(id))).toBe('none')
    expect(await decide(ledger, tagged, cancellation(id, 'APPROVED'))).toBe(denied)
    const own = await request('5000', await account(`${name}+b+c@example.test`, 'CONSUMER'))
    expect(await decide(ledger, tagged, approval(own))).toBe(denied)
    await expect(ledger.assertDifferentPerson(plain, tagged)).rejects.toMatchObject({ code: denied })
  })

  test('execute 403: an account with an empty mailbox name before the tag is its own person', async () => {
    const [one, other] = [await account('+one@example.test'), await account('+two@example.test')]
    expect(await codeOf(ledgerWith().assertDifferentPerson(one, other))).toBe('none')
  })

  test('execute: below the threshold of its currency, one operator takes consecutive decisions', async () => {
    const from = { USD: 5_000n }
    const [below, at] = [await request('4999'), await request('5000')]
    const ledger = ledgerWith({ enabled: true, from })
    for (const id of [below, at]) expect(await decide(ledger, first, approval(id))).toBe('none')
    expect(await decide(ledger, first, cancellation(below, 'APPROVED'))).toBe('none')
    expect(await decide(ledger, first, cancellation(at, 'APPROVED'))).toBe(denied)
    const other = ledgerWith({ enabled: true, from: { EUR: 5_000n } })
    const id = await request('1')
    expect(await decide(other, first, approval(id))).toBe('none')
    expect(await decide(other, first, cancellation(id, 'APPROVED'))).toBe(denied)
  })

  test('execute: switched off, one operator decides twice, but never on an order of the same person', async () => {
    const ledger = ledgerWith({ enabled: false, from: {} })
    const id = await request()
    expect(await decide(ledger, first, approval(id))).toBe('none')
    expect(await decide(ledger, first, cancellation(id, 'APPROVED'))).toBe('none')
    const own = await request('5000', first)
    expect(await decide(ledger, first, approval(own))).toBe(denied)
  })

  test('execute 403: an account of `priorActors` counts as an earlier decision', async () => {
    const id = await request()
    const move = approval(id, { priorActors: [first ?? maker] })
    expect(await decide(ledgerWith(), first, move)).toBe(denied)
    expect(await decide(ledgerWith({ enabled: true, from: { USD: 5_001n } }), first, move)).toBe('none')
    expect(await decide(ledgerWith(), second, approval(await request(), { priorActors: [first ?? maker] }))).toBe(
      'none',
    )
  })

  test('execute: parallel decisions of one operator on consecutive steps take at most one', async () => {
    const id = await request()
    const steps = [approval(id), cancellation(id, 'APPROVED'), cancellation(id, 'REQUESTED')]
    const codes = await Promise.all(steps.map((move) => decide(ledgerWith(), first, move)))
    expect(codes.filter((code) => code === 'none')).toHaveLength(1)
  })

  test('execute 403: an operator whose person belongs to the source or target workspace', async () => {
    const mailbox = systemIds.next()
    const [operator, consumer] = [
      await account(`${mailbox}@example.test`),
      await account(`${mailbox}+own@example.test`, 'CONSUMER'),
    ]
    const target = await bank.wallet('USD')
    await join(consumer, target.workspace)
    const ledger = ledgerWith({ enabled: false, from: {} })
    const received = await request('5000', maker, [party(wallet), party(target, 'target')])
    expect(await decide(ledger, operator, approval(received))).toBe(denied)
    expect(await decide(ledger, operator, cancellation(received, 'REQUESTED'))).toBe(denied)
    expect(await decide(ledger, first, approval(received))).toBe('none')
    const paid = await codeOf(
      ledger.execute({
        actor: operator,
        parties: [party(target, 'target')],
        create: { workspace: target.workspace, type: 'CLAIM', data: {}, steps: [{ status: 'REQUESTED' }] },
      }),
    )
    expect(paid).toBe(denied)
    await expect(ledger.assertOutsider(target.workspace, operator)).rejects.toMatchObject({ code: denied })
    await ledger.assertOutsider(wallet.workspace, operator)
  })

  test('execute 403: an operator whose person left the workspace within 72 hours', async () => {
    const mailbox = systemIds.next()
    const [operator, consumer] = [
      await account(`${mailbox}@example.test`),
      await account(`${mailbox}+own@example.test`, 'CONSUMER'),
    ]
    const target = await bank.wallet('USD')
    const ledger = ledgerWith({ enabled: false, from: {} })
    const received = await request('5000', maker, [party(wallet), party(target, 'target')])
    await join(consumer, target.workspace)
    await database.deleteFrom('memberships').where('accountBizId', '=', consumer).execute()
    const left = database.updateTable('former_memberships').where('accountBizId', '=', consumer)
    for (const hours of ['0 hours', '71 hours']) {
      await left.set({ endedAt: sql`clock_timestamp() - ${hours}::interval` }).execute()
      await deleteFormerMemberships(database)
      expect(await decide(ledger, operator, approval(received))).toBe(denied)
      await expect(ledger.assertOutsider(target.workspace, operator)).rejects.toMatchObject({ code: denied })
    }
    await ledger.assertOutsider(wallet.workspace, operator)
    await left.set({ endedAt: sql`clock_timestamp() - interval '72 hours'` }).execute()
    expect(await decide(ledger, operator, approval(received))).toBe('none')
    await deleteFormerMemberships(database)
    expect(await database.selectFrom('former_memberships').selectAll().execute()).toEqual([])
  })

  test('execute 409: a frozen workspace; the order can be cancelled, which releases its funds', async () => {
    const ledger = ledgerWith()
    const [requested, approved] = [await request(), await request()]
    expect(await decide(ledger, first, approval(approved))).toBe('none')
    const setStatus = (status: 'ACTIVE' | 'FROZEN') =>
      database
        .updateTable('workspaces')
        .set({ workspaceStatus: status })
        .where('bizId', '=', wallet.workspace)
        .execute()
    await setStatus('FROZEN')
    expect(await decide(ledger, second, approval(requested))).toBe('STATE.CONFLICT')
    expect(await decide(ledger, second, payment(approved))).toBe('STATE.CONFLICT')
    const before = await bank.available(wallet)
    expect(await decide(ledger, second, cancellation(requested, 'REQUESTED'))).toBe('none')
    expect(Number(await bank.available(wallet))).toBeCloseTo(Number(before) + 0.01)
    await setStatus('ACTIVE')
    expect(await decide(ledger, second, cancellation(approved, 'APPROVED'))).toBe('none')
  })

  test('execute 409: the account that created the order is suspended; the order can be cancelled', async () => {
    const suspended = await account(newEmail(), 'CONSUMER', 'SUSPENDED')
    const id = await request('5000', suspended)
    expect(await decide(ledgerWith(), first, approval(id))).toBe('STATE.CONFLICT')
    expect(await decide(ledgerWith(), first, cancellation(id, 'REQUESTED'))).toBe('none')
    const read = await ledgerWith().readOrder({ id, type: 'CLAIM', workspace: null })
    expect(read).toMatchObject({ workspaceStatus: 'ACTIVE', creatorStatus: 'SUSPENDED' })
  })
})
