import { sql } from 'kysely'
import { z } from 'zod'
import type { LedgerTypeTable } from '../../contract/ledger/ledger-types.ts'
import { closedGate, type Database, inTransaction, retryOnConflict } from '../../database/index.ts'
import { type Clock, type Ids, invalid, Refusal, toIso } from '../../kernel/index.ts'
import { markRecorded } from '../../platform/audit/index.ts'
import { type OutgoingRules, outgoingUsage } from '../limits.ts'
import { type Order, orderNumber, storedOrder } from '../order.ts'
import type { SeparationOfDuties } from '../separation.ts'
import {
  type NewOrder,
  type OrderCommand,
  type OrderMove,
  type Party,
  type PostingCommand,
  type Usage,
  UsageExceeded,
} from './command.ts'
import { deniedDecision } from './four-eyes-store.ts'

export interface LedgerPorts {
  /** A transaction if the command is part of a larger one. */
  database: Database
  clock: Clock
  /** Rows have the time of the database instead of this process's. Default: the time of `clock`. */
  usesDatabaseClock?: boolean
  ids: Ids
  /** The types of all owners. */
  types: LedgerTypeTable
  /** Default: applies to every amount. */
  separationOfDuties?: SeparationOfDuties
  /** Without it, outgoing orders cannot be created. */
  outgoing?: OutgoingRules
}

/**
 * The result of the SQL functions `ledger_execute` (schema/execute.ts) and `idempotency_begin` (schema/idempotency.ts).
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
    'USAGE_EXCEEDED',
    'CONFLICT',
    'MAKER_NOT_ACTIVE',
    'OWN_ORDER',
    'OWN_WORKSPACE',
    'EARLIER_ACTOR',
  ]),
  /** Index of the party that caused the outcome. The index refers to the `parties` of the command. */
  account: z.int().optional(),
  /** Index of the exceeded sum in the `usage` of the command. */
  usage: z.int().optional(),
  result: z.unknown().optional(),
})
type CommandOutcome = z.output<typeof commandOutcome>

/** Returns the result of this call or of an earlier request with the same key. Throws for all other outcomes. */
export function unwrapOutcome(
  outcome: CommandOutcome,
  parties: readonly Party[],
  usage: readonly Usage[] = [],
): unknown {
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
    case 'MAKER_NOT_ACTIVE':
      throw new Refusal('STATE.CONFLICT', {
        internal: 'a workspace of the order is frozen, or the creator’s account is not active',
      })
    case 'OWN_ORDER':
    case 'OWN_WORKSPACE':
    case 'EARLIER_ACTOR':
      throw deniedDecision(outcome.outcome)
    case 'NOT_FOUND':
      throw unknownParty(party)
    case 'CURRENCY_MISMATCH':
      throw currencyMismatch(party)
    case 'NOT_ACTIVE':
      throw new Refusal('WALLET.NOT_ACTIVE', { internal: `wallet not active: ${party?.label}` })
    case 'INSUFFICIENT_FUNDS':
      throw insufficientFunds(party)
    case 'USAGE_EXCEEDED':
      throw usageExceeded(usage[outcome.usage ?? -1])
  }
}

/** A repeated request returns the first result. */
export async function executeOrder(ports: LedgerPorts, command: OrderCommand): Promise<Order> {
  return storedOrder.parse(await runCommand(ports, command))
}

export async function executePosting(ports: LedgerPorts, command: PostingCommand): Promise<void> {
  await runCommand(ports, command)
}

function unknownParty(party: Party | undefined): Error {
  return party && 'house' in party
    ? new Error(`missing house account ${party.house} in ${party.currency}`)
    : new Refusal('RESOURCE.NOT_FOUND', { internal: party ? `unknown wallet: ${party.label}` : 'unknown order' })
}

function currencyMismatch(party: Party | undefined): Refusal {
  return invalid(party && 'wallet' in party ? party.currencyField : 'currency', `${party?.label} has another currency`)
}

function insufficientFunds(party: Party | undefined): Refusal {
  return new Refusal(party && 'house' in party ? party.insufficientFunds : 'WALLET.INSUFFICIENT_FUNDS', {
    internal: `insufficient funds: ${party?.label}`,
  })
}

function usageExceeded(used: Usage | undefined): Error {
  const internal = `exceeds the sum of ${used?.usageOf} by ${used?.of} in 24 hours`
  return used?.exceeded ? new Refusal(used.exceeded, { internal }) : new UsageExceeded(internal)
}

/** Fails closed: an outgoing type without its value would escape the sum. */
async function usageOf(command: PostingCommand | OrderCommand, ports: LedgerPorts): Promise<readonly Usage[]> {
  if ('move' in command) return command.move.usage ?? []
  if (!('create' in command)) return []
  const { type, usage = [], outgoing } = command.create
  if (outgoing === undefined) {
    if (ports.types.orders.get(type)?.outgoing) throw new RangeError(`${type} is outgoing: name the amount`)
    return usage
  }
  if (!ports.outgoing) throw new Error('this ledger has no rules for outgoing orders')
  return [...usage, ...(await outgoingUsage(ports.outgoing, outgoing, ports.database))]
}

/**
 * Does not retry inside a caller's transaction, because only the whole transaction can be retried (see
 * `inTransaction`).
 */
async function runCommand(ports: LedgerPorts, command: PostingCommand | OrderCommand): Promise<unknown> {
  const { database } = ports
  const usage = await usageOf(command, ports)
  const commandJson = toCommandJson(command, usage, ports)
  const attempt = async (store: Database): Promise<unknown> => {
    const outcome = await callExecute(store, commandJson)
    const result = unwrapOutcome(outcome, command.parties, usage)
    if (command.audit && outcome.outcome === 'DONE') markRecorded(store, command.audit.action)
    return result
  }
  if (database.isTransaction) return attempt(database)
  // The system's own commands, such as an expiry that a request finds, are not part of the request.
  if (command.actor !== null && closedGate()) return inTransaction(database, attempt)
  return retryOnConflict(() => attempt(database))
}

/** Replaces account labels with indexes, and formats amounts as strings of minor units. */
function toCommandJson(command: PostingCommand | OrderCommand, usage: readonly Usage[], ports: LedgerPorts): object {
  const { clock, ids, types } = ports
  const { parties, entries = [], holds = [], ...rest } = command
  const separation = separationJson(ports)
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
  const toOrderJson = ({ usage: _, outgoing: __, ...order }: NewOrder) => {
    const id = ids.next<'order'>()
    const wallets = { source: walletIndex('source'), target: walletIndex('target') }
    const type = types.orders.get(order.type)
    if (!type) throw new RangeError(`no domain of this process declares the order type ${order.type}`)
    return { ...order, ...wallets, id, orderNo: orderNumber(type.prefix, id, at) }
  }
  const toMoveJson = ({ usage: _, ...move }: OrderMove) => ({ ...move, ...(separation && { separation }) })
  return {
    ...rest,
    at: toIso(at),
    ...(ports.usesDatabaseClock && { databaseClock: true }),
    transaction: ids.next(),
    accounts: parties,
    ...('create' in command ? { create: toOrderJson(command.create) } : {}),
    ...('move' in command ? { move: toMoveJson(command.move) } : {}),
    ...(usage.length > 0 ? { usage: usage.map(toUsageJson) } : {}),
    ...(entries.length > 0 ? { entries: entries.map(toPostingJson) } : {}),
    ...(holds.length > 0 ? { holds: holds.map(toPostingJson) } : {}),
  }
}

/** Undefined if separation of duties is off. */
function separationJson({ separationOfDuties: rule }: LedgerPorts): Record<string, string> | undefined {
  return rule?.enabled === false
    ? undefined
    : Object.fromEntries(Object.entries(rule?.from ?? {}).map(([currency, minor]) => [currency, minor.toString()]))
}

function toUsageJson({ amount, max, of, subject, usageOf: name, leaving, otherCurrencies }: Usage) {
  return {
    ...{ of, subject, leaving, usageOf: name, otherCurrencies: otherCurrencies?.toString() },
    amount: amount.minor.toString(),
    currency: amount.currency,
    max: max === null ? null : max.toString(),
  }
}

async function callExecute(database: Database, commandJson: object): Promise<CommandOutcome> {
  const { rows } = await sql<{ outcome: unknown }>`
    SELECT ledger_execute(${JSON.stringify(commandJson)}::jsonb) AS outcome`.execute(database)
  return commandOutcome.parse(rows[0]?.outcome)
}
