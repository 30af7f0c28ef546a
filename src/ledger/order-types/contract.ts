import type * as z from 'zod'
import { eventTypeOf, type StatusEvents, statusEvents } from '../../contract/events/event.ts'
import { orderNoFilter } from '../../contract/fields.ts'
import {
  endsOf,
  type LifeCycle,
  lastOf,
  lifeCycleErrors,
  type Move,
  statusesOf,
} from '../../contract/ledger/life-cycle.ts'
import type { CodedFamily, Permission } from '../../kernel/index.ts'
import { orderDecision, orderOperations, reasonedOrderDecision } from '../contract.ts'

interface Declaration<
  Status extends string,
  Reply extends z.ZodRawShape,
  Filters extends z.ZodRawShape,
  Group extends string,
  Name extends string,
> extends Pick<LifeCycle, 'wallets' | 'columns' | 'prefix' | 'outgoing'> {
  /** The permission group of members and operators. */
  group: Group
  /** Operators must hold it to read events about the orders. Default: `<group>:read`. */
  operatorPermission?: Permission
  statuses: CodedFamily<Status>
  /** The reply of the operations. */
  reply: z.ZodObject<Reply>
  /** Filters of lists, in addition to `orderNo`. A filter with the name of `statuses` selects orders by status. */
  filters: Filters
  moves: Readonly<Record<Name, Move<NoInfer<Status>>>>
}

/**
 * Declares the life cycle of all orders of a type once. The statuses, operations, handlers, events, exports, lists of
 * pending orders and the reset of sandboxes derive from it. `createOrders` makes the moves. Throws a TypeError if a path does not
 * end, or a hold stays open.
 * @__NO_SIDE_EFFECTS__
 */
export function orderType<
  const Type extends string,
  Status extends string,
  Reply extends z.ZodRawShape,
  Filters extends z.ZodRawShape,
  Group extends string,
  Name extends string,
>(name: Type, declared: Declaration<Status, Reply, Filters, Group, Name>) {
  const { moves, reply, group } = declared
  const filters = { ...orderNoFilter, ...declared.filters }
  const errors = lifeCycleErrors(declared)
  if (!/^[A-Z]{3}$/.test(declared.prefix)) errors.push('prefix: must be three capital letters')
  if (errors.length > 0) throw new TypeError(`order type ${name}: ${errors.join('; ')}`)
  const emits = (...names: Name[]): string[] => [
    ...new Set(names.map((each) => eventTypeOf(name, lastOf(moves[each])))),
  ]
  const permissionOf = (name: Name, hasReason: boolean) => {
    const move = moves[name]
    if (move.by !== 'operator' || (move.reason !== undefined) !== hasReason)
      throw new TypeError(`${name} is not an operator's move ${hasReason ? 'with' : 'without'} a reason`)
    return move.permission
  }
  return {
    ...declared,
    filters,
    events: eventsOfOrders(name, declared),
    ...statusesOf(declared),
    name,
    /** The parts of the operations, without id, path and summary. */
    operations: orderOperations(reply, filters, group),
    /** The `emits` of an operation that makes one of these moves. */
    emits,
    /** The parts of an operator's move. The four-eyes rule applies. */
    decision: (move: Name) => ({ ...orderDecision(reply, permissionOf(move, false)), emits: emits(move) }),
    /** The parts of an operator's move with a reason. */
    reasonedDecision: (move: Name) => ({
      ...reasonedOrderDecision(reply, permissionOf(move, true)),
      emits: emits(move),
    }),
  }
}

/** One event for each status in which a move leaves an order, such as `transfer.completed`. */
function eventsOfOrders<Type extends string, Status extends string, Reply extends z.ZodRawShape>(
  type: Type,
  {
    statuses,
    moves,
    reply,
    group,
    operatorPermission,
  }: Pick<LifeCycle, 'moves'> & {
    statuses: CodedFamily<Status>
    reply: z.ZodObject<Reply>
    group: string
    operatorPermission?: Permission
  },
): StatusEvents<Type, Status, z.ZodObject<Reply>> {
  const ends = endsOf({ moves })
  // The type also names the statuses that no order stays in.
  return statusEvents(
    type,
    statuses.codes.filter((status) => ends.has(status)),
    {
      object: sentenceOf(type),
      data: reply,
      audience: 'workspace',
      permission: `${group}:read`,
      ...(operatorPermission && { operatorPermission }),
    },
  )
}

function sentenceOf(type: string): string {
  const name = type.toLowerCase().replaceAll('_', ' ')
  return `${/^[aeiou]/.test(name) ? 'An' : 'A'} ${name}`
}
