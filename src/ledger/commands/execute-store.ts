import { sql } from 'kysely'
import { z } from 'zod'
import { type Database, retryOnConflict, sqlState } from '../../database/index.ts'
import { type Clock, type Ids, invalid, Refusal, toIso } from '../../kernel/index.ts'
import { type Order, orderNumber, storedOrder } from '../order.ts'
import type { NewOrder, OrderCommand, Party, PostingCommand } from './command.ts'
import { assertNotCreator, ownDecision } from './four-eyes-store.ts'

/** The infrastructure of the ledger. */
export interface LedgerPorts {
  /** A transaction if the command is part of a larger one. */
  database: Database
  clock: Clock
  ids: Ids
}

/** The result of `ledger_execute` and of the idempotency functions, see schema/execute.ts. */
export const commandOutcome = z.object({
  outcome: z.enum([
    'DONE',
    'REPLAY',
    'IN_PROGRESS',
    'ID_REUSED',
    'NOT_FOUND',
    'CURRENCY_MISMATCH',
    'NOT_ACTIVE',
    'INSUFFICIENT_FUNDS',
    'CONFLICT',
    'OWN_ORDER',
  ]),
  /** Index of the party that caused the outcome. */
  account: z.int().optional(),
  result: z.unknown().optional(),
})
type CommandOutcome = z.output<typeof commandOutcome>

const insufficientFunds = (party: Party | undefined): Refusal =>
  new Refusal(party && 'house' in party ? party.insufficientFunds : 'WALLET.INSUFFICIENT_FUNDS', {
    internal: `insufficient funds: ${party?.label}`,
  })

const unknownParty = (party: Party | undefined): Error =>
  party && 'house' in party
    ? new Error(`missing house account ${party.house} in ${party.currency}`)
    : new Refusal('RESOURCE.NOT_FOUND', { internal: party ? `unknown wallet: ${party.label}` : 'unknown order' })

const currencyMismatch = (party: Party | undefined): Refusal =>
  invalid(party && 'wallet' in party ? party.currencyField : 'currency', `${party?.label} has another currency`)

/** The stored result of a command that is done, now or by an earlier attempt. Throws a Refusal for any other outcome. */
export const unwrapOutcome = (outcome: CommandOutcome, parties: readonly Party[]): unknown => {
  const party = outcome.account === undefined ? undefined : parties[outcome.account]
  switch (outcome.outcome) {
    case 'DONE':
    case 'REPLAY':
      return outcome.result
    case 'IN_PROGRESS':
      throw new Refusal('REQUEST.IN_PROGRESS', { retryAfter: 1 })
    case 'ID_REUSED':
      throw new Refusal('REQUEST.ID_REUSED')
    case 'CONFLICT':
      throw new Refusal('STATE.CONFLICT', { internal: 'the order is in another status' })
    case 'OWN_ORDER':
      throw ownDecision()
    case 'NOT_FOUND':
      throw unknownParty(party)
    case 'CURRENCY_MISMATCH':
      throw currencyMismatch(party)
    case 'NOT_ACTIVE':
      throw new Refusal('WALLET.NOT_ACTIVE', { internal: `wallet not active: ${party?.label}` })
    case 'INSUFFICIENT_FUNDS':
      throw insufficientFunds(party)
  }
}

/** SQLSTATE of the trigger in schema/daily-usage.ts, which also counts concurrent orders. */
const dailyLimit = 'PL001'

const throwStoreError = (error: unknown): never => {
  if (sqlState(error) !== dailyLimit) throw error
  throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'daily limit', cause: error })
}

/** The argument of ledger_execute: with ids and time, accounts as indexes, amounts as strings of minor units. */
const toCommandJson = (command: PostingCommand | OrderCommand, { clock, ids }: LedgerPorts): object => {
  const { parties, entries = [], holds = [], ...rest } = command
  const at = clock.now()
  const indexes = new Map(parties.map((party, index) => [party.label, index]))
  const toPostingJson = <T extends { account: string; amount: bigint }>(posting: T) => {
    const account = indexes.get(posting.account)
    if (account === undefined) throw new RangeError(`no ${posting.account} among the parties of the command`)
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

const callExecute = async (database: Database, commandJson: object): Promise<CommandOutcome> => {
  const { rows } = await sql<{ outcome: unknown }>`
    SELECT ledger_execute(${JSON.stringify(commandJson)}::jsonb) AS outcome`.execute(database)
  return commandOutcome.parse(rows[0]?.outcome)
}

/**
 * Runs a command in one round trip. `ledger_execute` holds its transaction, idempotency and journal entries. Returns the
 * stored result; throws a Refusal if nothing was written. Retries conflicts, except inside a caller's transaction: only the
 * whole transaction can run again (inTransaction).
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
 * as it was after the first execution of the same request.
 */
export const executeOrder = async (ports: LedgerPorts, command: OrderCommand): Promise<Order> => {
  if ('move' in command && command.move.notByCreator && command.actor !== null)
    await assertNotCreator(ports.database, command.move.id, command.actor)
  return storedOrder.parse(await runCommand(ports, command))
}

/** Makes postings that belong to no order. */
export const executePosting = async (ports: LedgerPorts, command: PostingCommand): Promise<void> => {
  await runCommand(ports, command)
}
