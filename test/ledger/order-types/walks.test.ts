import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOrderSource } from '../../../src/banking/exports/order-source.ts'
import { resetSandbox } from '../../../src/banking/sandbox/service.ts'
import { expiryOf, waitingStatuses } from '../../../src/contract/ledger/life-cycle.ts'
import { type AccountId, addMs, type Instant, type OrderId } from '../../../src/kernel/index.ts'
import { expireOrders, type Ledger, type Order } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { refusalOf, transactionOf } from '../../banking/world.ts'
import { embeddedStore, type TestStore } from '../stores.ts'
import { createTestBank, type TestBank, type TestWallet } from '../test-bank.ts'
import { declaredTypes } from './bonds.ts'
import {
  amount,
  createDesk,
  disableDomainRules,
  entriesOf,
  lastOf,
  lifeMs,
  replicaOf,
  type TestedType,
} from './desk.ts'

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

const conflict = 'STATE.CONFLICT'
const denied = 'ACCESS.PERMISSION_DENIED'

interface Step {
  move: number
  actor: number
  /** Milliseconds before the move. */
  pause: number
}

const steps = fc.array(fc.record({ move: fc.nat(20), actor: fc.nat(3), pause: fc.constantFrom(0, 0, 0, 1, lifeMs) }), {
  maxLength: 8,
})

/** The order that follows from the declaration. */
interface Model {
  status: string
  history: { status: string; actorBizId: AccountId | null; reason: string | null }[]
  /** The action and the actor of each audit entry. */
  audit: [action: string, actor: AccountId | null][]
  version: number
  held: bigint
  postings: number
}

let store: TestStore
let bank: TestBank
let ledger: Ledger
beforeAll(async () => {
  store = await embeddedStore()
  bank = await createTestBank(store.database)
  ledger = replicaOf(store.database, bank)
  await ledger.registerTypes()
  await disableDomainRules(store.database)
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
})
afterAll(() => store.close())

/** Walks along the moves of one order, and compares it with a model after each step. */
class Walk {
  readonly #type: TestedType
  readonly #wallet: TestWallet
  readonly #desk: ReturnType<typeof createDesk>
  readonly #people: readonly AccountId[] = Array.from({ length: 4 }, () => systemIds.next<'account'>())
  readonly #replies: { repeat: () => Promise<Order>; reply: Order }[] = []
  #id: OrderId = systemIds.next<'order'>()
  #expiresAt: Instant = bank.clock.now()
  #model: Model = { status: '', history: [], audit: [], version: 0, held: 0n, postings: 0 }

  constructor(type: TestedType, wallet: TestWallet) {
    this.#type = type
    this.#wallet = wallet
    this.#desk = createDesk(type, { ledger, clock: bank.clock, wallet })
  }

  person(index: number): AccountId {
    const person = this.#people[index]
    if (!person) throw new RangeError(`person ${index}`)
    return person
  }

  get status(): string {
    return this.#model.status
  }

  async open(name: string): Promise<void> {
    const attempt = { as: this.person(0), requestId: systemIds.next() }
    const reply = await this.#desk.open(name, attempt)
    this.#id = reply.bizId
    this.#expiresAt = addMs(bank.clock.now(), lifeMs)
    this.#record(name, this.person(0))
    this.#replies.push({ repeat: () => this.#desk.open(name, attempt), reply })
  }

  /** Makes a move by its maker. A move that the model forbids must get the code of the model. */
  async make(name: string, actor: number): Promise<void> {
    const { by } = this.#moveOf(name)
    if (by === 'clock') return this.#expire()
    if (by === 'sandbox') return this.#reset()
    const attempt = { as: this.person(actor), id: this.#id, requestId: systemIds.next() }
    const expected = this.#codeOf(name, attempt.as)
    if (this.#isDue() && this.#moveOf(name).from.includes(expiryOf(this.#type)?.to ?? '')) this.#recordExpiry()
    let reply: Order | undefined
    const code = await refusalOf(
      this.#desk.make(name, attempt).then((order) => {
        reply = order
      }),
    )
    expect([name, this.status, code]).toEqual([name, this.status, expected])
    if (reply === undefined) return
    this.#record(name, attempt.as)
    this.#replies.push({ repeat: () => this.#desk.make(name, attempt), reply })
  }

  async #expire(): Promise<void> {
    const isDue = this.#isDue()
    await expireOrders(ledger, this.#type, { requestId: 'job', workspace: this.#wallet.workspace })
    if (isDue) this.#recordExpiry()
  }

  /** Ends every open order of the workspace, as the move by `sandbox` says, or as expired. */
  async #reset(): Promise<void> {
    const actor = this.person(0)
    const { workspace } = this.#wallet
    const at = bank.clock.now()
    const ports = {
      ...{ database: store.database, transaction: transactionOf(store.database), ledger, cleaners: [] },
      members: { assertAccess: async () => ({ kind: 'SANDBOX' as const }) },
    }
    const access = { id: workspace, isOwner: true, permissions: new Set<never>() }
    const requestId: string = systemIds.next()
    const origin = {
      operationId: 'sandbox.reset',
      portal: 'CONSUMER',
      requestId,
      clientIp: '',
      apiKeyId: null,
    } as const
    await resetSandbox(ports, { access, auditContext: { ...origin, accountId: actor, at } })
    const audited = await sql`SELECT FROM audit_log WHERE request_id = ${requestId}`.execute(store.database)
    expect(audited.rows).toHaveLength(1)
    if (this.#type.final.includes(this.status)) return
    const [, ending] =
      Object.entries(this.#type.moves).find(([, { by, from }]) => by === 'sandbox' && from.includes(this.status)) ?? []
    const expiry = expiryOf(this.#type)
    this.#enter([this.#isDue() && expiry ? expiry.to : ending ? lastOf(ending) : ''], actor, 'SANDBOX_RESET')
    this.#model.held = 0n
  }

  /** Whether the order has expired, but no command has recorded it. */
  #isDue(): boolean {
    return expiryOf(this.#type)?.from === this.status && this.#expiresAt <= bank.clock.now()
  }

  #recordExpiry(): void {
    const expiry = expiryOf(this.#type)
    if (!expiry) return
    this.#enter([expiry.to], null, null)
    this.#model.audit.push([expiry.job, null])
    if (expiry.holds !== undefined) this.#model.held = 0n
  }

  #codeOf(name: string, actor: AccountId): string {
    const { by, from } = this.#moveOf(name)
    const expiry = expiryOf(this.#type)
    const status = this.#isDue() && expiry ? expiry.to : this.status
    if (expiry?.to === status && !from.includes(status)) return conflict
    const isOperator = by === 'operator'
    if (isOperator && actor === this.person(0)) return denied
    if (!from.includes(status)) return conflict
    return isOperator && this.#model.history.some(({ actorBizId }) => actorBizId === actor) ? denied : 'none'
  }

  #moveOf(name: string) {
    const move = this.#type.moves[name]
    if (!move) throw new RangeError(name)
    return move
  }

  #record(name: string, actor: AccountId): void {
    const move = this.#moveOf(name)
    this.#enter(move.to, actor, move.reason === undefined ? null : 'because')
    this.#model.audit.push([`tests.${name}`, actor])
    if (move.holds !== undefined) this.#model.held = move.holds === 'HELD' ? amount : 0n
    this.#model.postings += entriesOf(this.#type, move).length
  }

  #enter(statuses: readonly string[], actor: AccountId | null, reason: string | null): void {
    for (const [index, status] of statuses.entries())
      this.#model.history.push({ status, actorBizId: actor, reason: index === statuses.length - 1 ? reason : null })
    this.#model.status = statuses.at(-1) ?? ''
    this.#model.version++
  }

  /** The stored order, its holds, postings, audit entries, lists and export agree with the model. */
  async check(): Promise<void> {
    const { workspace } = this.#wallet
    const order = await ledger.readOrder({ id: this.#id, type: this.#type.name, workspace })
    const history = order.history.map(({ status, actorBizId, reason }) => ({ status, actorBizId, reason }))
    expect({ status: order.status, version: order.version, history }).toEqual({
      ...{ status: this.status, version: this.#model.version, history: this.#model.history },
    })
    const { rows: audit } = await sql<{ action: string; actor: AccountId | null }>`
      SELECT action, actor_biz_id AS actor FROM audit_log WHERE target_biz_id = ${this.#id}`.execute(store.database)
    expect(audit.map(({ action, actor }) => `${action} ${actor}`).toSorted()).toEqual(
      this.#model.audit.map(([action, actor]) => `${action} ${actor}`).toSorted(),
    )
    const { rows: holds } = await sql<{ amount: bigint }>`
      SELECT coalesce(sum(amount), 0)::minor_units AS amount FROM ledger_holds
       WHERE order_biz_id = ${this.#id} AND status = 'HELD'`.execute(store.database)
    expect(holds[0]?.amount).toBe(this.#model.held)
    expect((await ledger.readBalance({ wallet: this.#wallet.id, workspace }))?.held.minor).toBe(this.#model.held)
    const postings = await ledger.listPostings(this.#id)
    expect(postings).toHaveLength(this.#model.postings)
    expect(postings.reduce((sum, posting) => sum + posting.amount.minor, 0n)).toBe(0n)
    await this.#checkLists()
  }

  /** An expired order counts as such before a command has recorded it. */
  async #checkLists(): Promise<void> {
    const expiry = expiryOf(this.#type)
    const status = this.#isDue() && expiry ? expiry.to : this.status
    const query = { currentPage: 1, pageSize: 5, sortBy: 'createdAt', sortOrder: 'asc' } as const
    const { workspace } = this.#wallet
    const statuses = waitingStatuses(this.#type)
    const pending = await this.#desk.orders.page(query, workspace, { statuses })
    expect([status, pending.items.length]).toEqual([status, statuses.includes(status) ? 1 : 0])
    const request = { workspace, walletId: undefined, status: undefined, data: {}, from: undefined, to: undefined }
    const rows = createOrderSource(ledger, this.#type, { ...request, asOf: null, now: bank.clock.now() }, 5).rows
    const exported = await Array.fromAsync(rows)
    expect(exported.map((row) => (row as Record<string, unknown>)[this.#type.statuses.name])).toEqual([status])
  }

  /** Goes on with moves that the model allows, by other operators, until the order has ended. */
  async finish(choose: (count: number) => number): Promise<void> {
    for (let left = 20; !this.#type.final.includes(this.status); left--) {
      expect(left, `no path from ${this.status} ends`).toBeGreaterThan(0)
      const possible = Object.entries(this.#type.moves).filter(
        ([, move]) => (move.by === 'member' || move.by === 'operator') && move.from.includes(this.status),
      )
      const [name = ''] = possible[choose(possible.length)] ?? []
      if (this.#isDue()) await this.#expire()
      else await this.#makeByAnother(name)
      await this.check()
    }
    expect(this.#model.held).toBe(0n)
  }

  async #makeByAnother(name: string): Promise<void> {
    const attempt = { as: systemIds.next<'account'>(), id: this.#id, requestId: systemIds.next() }
    const reply = await this.#desk.make(name, attempt)
    this.#record(name, attempt.as)
    this.#replies.push({ repeat: () => this.#desk.make(name, attempt), reply })
  }

  async repeatAll(): Promise<void> {
    for (const { repeat, reply } of this.#replies) expect(await repeat()).toEqual(reply)
    await this.check()
  }
}

describe.each(declaredTypes.map((type): TestedType => type))('the life cycle of $name', (type) => {
  test('every path ends, releases its holds, and is audited as it is declared', async () => {
    const openings = Object.keys(type.moves).filter((name) => type.moves[name]?.from.length === 0)
    const moves = Object.keys(type.moves).filter((name) => !openings.includes(name))
    const property = fc.asyncProperty(fc.nat(), steps, fc.nat(), async (first, path: Step[], choice) => {
      const wallet = await bank.wallet('USD', '100.00', await bank.workspace('SANDBOX'))
      const walk = new Walk(type, wallet)
      await walk.open(openings[first % openings.length] ?? '')
      await walk.check()
      for (const { move, actor, pause } of moves.length > 0 ? path : []) {
        bank.clock.advance(pause)
        await walk.make(moves[move % moves.length] ?? '', actor)
        await walk.check()
      }
      await walk.finish((count) => choice % count)
      await walk.repeatAll()
    })
    await fc.assert(property, { seed, numRuns: 15 })
    expect(await ledger.verifyLedger()).toBeNull()
  })

  test('every status and every move is reached by a path from an opening', () => {
    const reached = new Set<string>()
    const enter = (status: string): void => {
      if (reached.has(status)) return
      reached.add(status)
      for (const move of Object.values(type.moves)) if (move.from.includes(status)) enter(lastOf(move))
    }
    for (const move of Object.values(type.moves)) if (move.from.length === 0) enter(lastOf(move))
    const passed = Object.values(type.moves).flatMap(({ to }) => to.slice(0, -1))
    expect(Object.values(type.moves).flatMap(({ from }) => from.filter((status) => !reached.has(status)))).toEqual([])
    expect(type.statuses.codes.filter((code) => !reached.has(code) && !passed.includes(code))).toEqual([])
  })
})
