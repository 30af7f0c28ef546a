import { sql } from 'kysely'
import { z } from 'zod'
import { type Database, retryOnConflict, sqlState } from '../../database/index.ts'
import { type Clock, type Ids, invalid, Refusal, toIso } from '../../kernel/index.ts'
import { type Order, orderNumber, storedOrder } from '../order.ts'
import type { NewOrder, OrderCommand, Party, PostingCommand } from './command.ts'
import { assertNotCreator, ownDecision } from './four-eyes-store.ts'

/** The infrastructure that the ledger depends on. */
export interface LedgerPorts {
  /** A connection pool, or a transaction if the command is part of a larger transaction. */
  database: Database
  clock: Clock
  ids: Ids
}

/**
 * Parses the result of the SQL functions `ledger_execute` (schema/execute.ts) and `idempotency_begin`
 * (schema/idempotency.ts).
 */
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
  /** Index of the party that caused the outcome. The index refers to the `parties` of the command. */
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

/**
 * Returns the stored result of a command. This call or an earlier request with the same key executed the command.
 * Throws an error for any other outcome.
 */
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

/**
 * SQLSTATE that the trigger in schema/daily-usage.ts raises if an order exceeds the daily limit. The trigger also
 * counts orders that are created at the same time.
 */
const dailyLimit = 'PL001'

const throwStoreError = (error: unknown): never => {
  if (sqlState(error) !== dailyLimit) throw error
  throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'daily limit', cause: error })
}

/**
 * Returns the JSON argument of `ledger_execute`. Adds the ids and the current time. Replaces account labels with
 * indexes, and formats amounts as strings of minor units.
 */
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
 * Runs a command in one round trip to the database, and returns the stored result. `ledger_execute` writes the journal
 * entries and the idempotency record in one transaction. Throws a Refusal if the command is rejected, in which case
 * nothing is written.
 *
 * Retries the command after a conflict. Inside a caller's transaction the command is not retried, because only the
 * whole transaction can be retried (see `inTransaction`).
 */
const runCommand = async (ports: LedgerPorts, command: PostingCommand | OrderCommand): Promise<unknown> => {
  const { database } = ports
  const commandJson = toCommandJson(command, ports)
  const attempt = () => callExecute(database, commandJson)
  const outcome = await (database.isTransaction ? attempt() : retryOnConflict(attempt)).catch(throwStoreError)
  return unwrapOutcome(outcome, command.parties)
}

/**
 * Creates an order or changes its status. Writes the postings, holds, audit entry and stored result, too. Returns the
 * order after the command. A repeated request returns the order as the first execution returned it.
 */
export const executeOrder = async (ports: LedgerPorts, command: OrderCommand): Promise<Order> => {
  if ('move' in command && command.move.notByCreator && command.actor !== null)
    await assertNotCreator(ports.database, command.move.id, command.actor)
  return storedOrder.parse(await runCommand(ports, command))
}

/** Posts entries that belong to no order. */
export const executePosting = async (ports: LedgerPorts, command: PostingCommand): Promise<void> => {
  await runCommand(ports, command)
}
