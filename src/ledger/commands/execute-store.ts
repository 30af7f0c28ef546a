import { sql } from 'kysely'
import { type Database, retryOnConflict } from '../../database/index.ts'
import { type Clock, type Ids, toIso } from '../../kernel/index.ts'
import { type Order, storedOrder } from '../order.ts'
import type { NewOrder, OrderCommand, PostingCommand } from './command.ts'
import { type CommandOutcome, commandOutcome, throwStoreError, unwrapOutcome } from './errors.ts'
import { assertNotCreator } from './four-eyes-store.ts'
import { orderNumber } from './order-number.ts'

export interface LedgerPorts {
  /** A transaction if the command is part of a larger one. */
  database: Database
  clock: Clock
  ids: Ids
}

/** The JSON that ledger_execute takes: with ids and time, accounts as indexes, amounts as strings of minor units. */
const toCommandJson = (command: PostingCommand | OrderCommand, { clock, ids }: LedgerPorts): object => {
  const { parties, entries = [], holds = [], ...rest } = command
  const at = clock.now()
  const indexes = new Map(parties.map((party, index) => [party.label, index]))
  const toPostingJson = <T extends { account: string; amount: bigint }>(posting: T) => {
    const account = indexes.get(posting.account)
    if (account === undefined) throw new RangeError(`no ${posting.account} among the accounts of the command`)
    return { ...posting, id: ids.next(), account, amount: posting.amount.toString() }
  }
  const walletIndex = (label: string): number | null => {
    const index = parties.findIndex((party) => party.label === label && 'wallet' in party)
    return index < 0 ? null : index
  }
  const toOrderJson = (order: NewOrder) => {
    const id = ids.next<'order'>()
    const wallets = { source: walletIndex('source'), target: walletIndex('target') }
    return { ...order, ...wallets, id, orderNo: orderNumber(order.type, id, at) }
  }
  return {
    ...rest,
    at: toIso(at),
    transaction: ids.next(),
    accounts: parties,
    ...('create' in command ? { create: toOrderJson(command.create) } : {}),
    ...(entries.length > 0 ? { entries: entries.map(toPostingJson) } : {}),
    ...(holds.length > 0 ? { holds: holds.map(toPostingJson) } : {}),
  }
}

/** Runs the whole command in one round trip: in a transaction of the statement, or in the caller's. */
const callExecute = async (database: Database, commandJson: object): Promise<CommandOutcome> => {
  const { rows } = await sql<{ outcome: unknown }>`
    SELECT ledger_execute(${JSON.stringify(commandJson)}::jsonb) AS outcome`.execute(database)
  return commandOutcome.parse(rows[0]?.outcome)
}

/**
 * The command's result. Throws a Refusal if nothing was done. Inside a transaction there is no retry after a conflict:
 * only the whole transaction can run again (inTransaction).
 */
const runCommand = async (ports: LedgerPorts, command: PostingCommand | OrderCommand): Promise<unknown> => {
  const { database } = ports
  const commandJson = toCommandJson(command, ports)
  const attempt = () => callExecute(database, commandJson)
  const outcome = await (database.isTransaction ? attempt() : retryOnConflict(attempt)).catch(throwStoreError)
  return unwrapOutcome(outcome, command.parties)
}

/**
 * Creates or moves an order with its postings, holds, audit entry and stored result. Returns the order after the command, or
 * as it was after the first attempt of the same request.
 */
export const executeOrder = async (ports: LedgerPorts, command: OrderCommand): Promise<Order> => {
  await assertNotCreator(ports.database, command)
  return storedOrder.parse(await runCommand(ports, command))
}

/** Makes postings that belong to no order. */
export const executePosting = async (ports: LedgerPorts, command: PostingCommand): Promise<void> => {
  await runCommand(ports, command)
}
