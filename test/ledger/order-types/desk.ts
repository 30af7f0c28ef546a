import { sql } from 'kysely'
import type { LifeCycle, Move } from '../../../src/contract/ledger/life-cycle.ts'
import type { Database } from '../../../src/database/index.ts'
import { type AccountId, addMs, type Clock, type OrderId, toIso } from '../../../src/kernel/index.ts'
import {
  type Change,
  createLedger,
  createOrders,
  type Entry,
  type Ledger,
  type Opening,
  type Order,
  type OrderQuery,
  type Party,
  type Usage,
} from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { callerOf, outgoingOf, unlimitedOutgoing, words } from '../../banking/world.ts'
import { createRequestContext } from '../../harness/request-context.ts'
import type { TestWallet } from '../test-bank.ts'
import { types as testedTypes } from './bonds.ts'

export type TestedType = LifeCycle & { readonly name: OrderQuery['type'] }

/** In minor units of USD. */
export const amount = 500n

export const lifeMs = 10_000

export function lastOf({ to }: Move): string {
  return to.at(-1) ?? to[0]
}

/** The rules of domains need their own rows, such as a quote or a payout account. */
export async function disableDomainRules(database: Database): Promise<void> {
  const { rows } = await sql<{ name: string }>`SELECT tgname AS name FROM pg_trigger
    WHERE tgrelid = 'orders'::regclass AND NOT tgisinternal AND tgname !~ '^(orders|ledger)_'`.execute(database)
  if (rows.length === 0) throw new Error('no domain has a rule')
  for (const { name } of rows) await sql.raw(`ALTER TABLE orders DISABLE TRIGGER ${name}`).execute(database)
}

/** A replica of the gateway. */
export function replicaOf(database: Database, { clock }: { clock: Clock }, types = testedTypes): Ledger {
  return createLedger({ database, clock, ids: systemIds, types, outgoing: unlimitedOutgoing })
}

/** The entries of a move, derived from its declaration. They sum to zero. */
export function entriesOf(type: TestedType, move: Move): Entry[] {
  const isPaid = move.from.length === 0 ? lastOf(move) === 'COMPLETED' : move.holds === 'CAPTURED'
  const isPaidBack = type.final.some((status) => move.from.includes(status)) && move.limits === 'RETURNED'
  const credit = isPaidBack ? amount : -amount
  const flowType = 'WITHDRAWAL' as const
  return isPaid || isPaidBack
    ? [
        { account: 'source', amount: credit, flowType },
        { account: 'clearing', amount: -credit, flowType },
      ]
    : []
}

/** The amounts of an order that count towards a limit of a day. */
function usageOf(type: TestedType, max: bigint | null): Usage[] {
  const usage = { usageOf: `${type.name} TEST`, amount: { minor: amount, currency: 'USD' }, max }
  return (['WORKSPACE', 'PERSON'] as const).map((of) => ({ ...usage, of, exceeded: 'WALLET.LIMIT_EXCEEDED' }))
}

export interface Attempt {
  as: AccountId
  id?: OrderId
  /** Reuses the key of an earlier request. */
  requestId?: string
  max?: bigint
}

/** Makes every declared move of a type by `createOrders`, as the handlers of a domain do. */
export function createDesk(
  type: TestedType,
  { ledger, clock, wallet }: { ledger: Ledger; clock: Clock; wallet: TestWallet },
) {
  const orders = createOrders(type, { ledger, words }, (order) => order)
  const parties: Party[] = [
    {
      ...{ label: 'source', wallet: wallet.id, workspace: wallet.workspace, currency: 'USD' },
      ...{ active: true, currencyField: 'currency' },
    },
    { label: 'clearing', house: 'CLEARING', currency: 'USD', insufficientFunds: 'SYSTEM.INTERNAL_ERROR' },
  ]
  const texts = Object.fromEntries(type.columns.map(({ name }) => [name, name] as const))
  const moveOf = (name: string): Move => {
    const move = type.moves[name]
    if (!move) throw new RangeError(name)
    return move
  }

  const requestOf = (name: string, { as, id, requestId = systemIds.next() }: Attempt) => {
    const isMember = moveOf(name).by === 'member'
    return {
      ...createRequestContext(clock, {
        operationId: `tests.${name}`,
        requestId,
        portal: isMember ? 'CONSUMER' : 'SYSTEM',
      }),
      caller: callerOf(as),
      params: { id: id ?? '' },
      idempotency: { key: requestId, bodyHash: `${name} ${id}` },
      workspace: isMember ? { id: wallet.workspace, isOwner: true, permissions: new Set<never>() } : null,
    }
  }

  const open = (name: string, attempt: Attempt): Promise<Order> => {
    const request = requestOf(name, attempt)
    const { workspace } = request
    if (workspace === null) throw new TypeError(`${name} is not a member's move`)
    const move = moveOf(name)
    const entries = entriesOf(type, move)
    const opening: Opening = {
      parties,
      order: {
        data: { ...texts, amount: amount.toString(), currency: 'USD', expiresAt: toIso(addMs(clock.now(), lifeMs)) },
        usage: usageOf(type, attempt.max ?? null),
        ...(type.outgoing && { outgoing: outgoingOf(amount, request.caller, clock.now()) }),
      },
      ...(entries.length > 0 && { entries }),
      ...(move.holds === 'HELD' && { holds: [{ account: 'source', amount }] }),
    }
    return orders.create((_, context) => orders.open(name, context, opening))({ ...request, workspace })
  }

  const make = (name: string, attempt: Attempt): Promise<Order> => {
    const move = moveOf(name)
    const entries = entriesOf(type, move)
    const change: Change = {
      ...(entries.length > 0 && { parties, entries }),
      ...(move.reason !== undefined && { reason: 'because' }),
      ...(move.limits === 'COUNTED' && { usage: usageOf(type, attempt.max ?? null) }),
      ...(move.sets && { data: Object.fromEntries(move.sets.map((field) => [field, attempt.id ?? name])) }),
    }
    return orders.move(name, () => change)(requestOf(name, attempt))
  }

  return { orders, open, make }
}
