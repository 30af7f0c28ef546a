import { type Database, retryOnConflict } from '../database/index.ts'
import { type Clock, type Ids, toIso } from '../kernel/index.ts'
import type { NewOrder, OrderCommand, PostingCommand } from './command.ts'
import { callExecute } from './execute-store.ts'
import { isMadeBy } from './maker-store.ts'
import { type Order, storedOrder } from './order.ts'
import { orderNumber } from './order-number.ts'
import { answerOf, refuse } from './outcome.ts'

export interface LedgerPorts {
  /** A transaction, for commands that are part of something larger. */
  database: Database
  clock: Clock
  ids: Ids
}

/** The command as ledger_execute takes it: ids and the time added, accounts by their place, amounts as digits. */
const written = (command: PostingCommand | OrderCommand, { clock, ids }: LedgerPorts): object => {
  const { parties, entries = [], holds = [], ...rest } = command
  const at = clock.now()
  const places = new Map(parties.map((party, place) => [party.label, place]))
  const placed = <T extends { account: string; amount: bigint }>(posting: T) => {
    const account = places.get(posting.account)
    if (account === undefined) throw new RangeError(`no ${posting.account} among the accounts of the command`)
    return { ...posting, id: ids.next(), account, amount: posting.amount.toString() }
  }
  const wallet = (label: string): number | null => {
    const place = parties.findIndex((party) => party.label === label && 'wallet' in party)
    return place < 0 ? null : place
  }
  const order = (made: NewOrder) => {
    const id = ids.next<'order'>()
    return { ...made, source: wallet('source'), target: wallet('target'), id, orderNo: orderNumber(made.type, id, at) }
  }
  return {
    ...rest,
    at: toIso(at),
    transaction: ids.next(),
    accounts: parties,
    ...('create' in command ? { create: order(command.create) } : {}),
    ...(entries.length > 0 ? { entries: entries.map(placed) } : {}),
    ...(holds.length > 0 ? { holds: holds.map(placed) } : {}),
  }
}

/**
 * Carries out a command in one round trip: wholly, or not at all and with a Refusal. Inside a transaction
 * nothing is retried, for a transaction that lost a race can only be run again from its start (inTransaction).
 */
const run = async (ports: LedgerPorts, command: PostingCommand | OrderCommand): Promise<unknown> => {
  const { database } = ports
  const text = written(command, ports)
  const once = () => callExecute(database, text)
  const outcome = await (database.isTransaction ? once() : retryOnConflict(once)).catch(refuse)
  return answerOf(outcome, command.parties)
}

/** Who made an order never changes, nor whose an account is: it is as good to look before the command as within it. */
const demandAnother = async ({ database }: LedgerPorts, command: OrderCommand): Promise<void> => {
  if (!('move' in command) || !command.move.notByCreator || command.actor === null) return
  if (await isMadeBy(database, command.move.id, command.actor)) answerOf({ outcome: 'OWN_ORDER' }, command.parties)
}

/** The order as it stands after the command, or as it stood after the same request's first time. */
export const execute = async (ports: LedgerPorts, command: OrderCommand): Promise<Order> => {
  await demandAnother(ports, command)
  return storedOrder.parse(await run(ports, command))
}

export const post = async (ports: LedgerPorts, command: PostingCommand): Promise<void> => {
  await run(ports, command)
}
