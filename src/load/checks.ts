import { listTransfers } from '../banking/transfers/contract.ts'
import { listFlows, readBalance } from '../banking/wallets/contract.ts'
import type { Result } from '../client/operation-types.ts'
import { parseMoney } from '../kernel/index.ts'
import type { Actor } from './accounts.ts'
import { inWorkspace, type Wallet, walletParams } from './scenarios.ts'
import { type Command, describe } from './transfers.ts'

/** The result of one check. */
export interface Check {
  name: string
  /** The compared objects, such as `120 orders`. */
  checked: string
  violations: number
  /** Descriptions of the first violations. */
  findings: string[]
}

const maxFindings = 20

export function toCheck(name: string, checked: string, findings: readonly string[]): Check {
  return {
    name,
    checked,
    violations: findings.length,
    findings: findings.slice(0, maxFindings),
  }
}

type Flow = Result<typeof listFlows>['items'][number]

const pageSize = 100

/** The state of a wallet between two runs. */
interface WalletState {
  reader: Actor
  wallet: Wallet
  /** Minor units, held ones included. */
  total: bigint
  available: bigint
  /** Number of the newest flow. */
  sequence: number
}

/** The state of every wallet before a run. */
export interface Snapshot {
  /** Time at the gateway. Null if no reply has a time. */
  takenAt: number | null
  wallets: WalletState[]
}

/** Reads the balance of every wallet of these accounts once. */
export async function takeSnapshot(actors: readonly Actor[]): Promise<Snapshot> {
  const wallets = new Map<string, WalletState>()
  let takenAt: number | null = null
  for (const reader of actors)
    for (const wallet of reader.wallets.filter(({ bizId }) => !wallets.has(bizId))) {
      const { timestamp, state } = await readWallet(reader, wallet)
      takenAt ??= timestamp
      wallets.set(wallet.bizId, state)
    }
  return { takenAt, wallets: [...wallets.values()] }
}

/** Gateways limit the depth of a list, so the next pages start at the time of the last record. */
const pagesPerInterval = 50

/** Clocks of replicas may differ by this time. */
const clockToleranceMs = 5_000

/** Compares orders and balances with the commands that were sent since the snapshot. Reads through the public interface. */
export async function checkMoney(before: Snapshot, commands: readonly Command[]): Promise<Check[]> {
  const orders = await readOrdersOf(commands, before)
  const exist = commands.flatMap((command) => orderFindings(command, orders.get(command.terms.clientReference) ?? []))
  const unknown = commands.filter(({ outcome }) => outcome.kind === 'unknown')
  const executed = unknown.filter(({ terms }) => orders.has(terms.clientReference)).length
  const acknowledged = commands.filter(({ outcome }) => outcome.kind === 'acknowledged').length
  const add: string[] = []
  let flowCount = 0
  const byWallet = new Map<string, Map<string | null, Flow[]>>()
  for (const state of before.wallets) {
    const { state: after } = await readWallet(state.reader, state.wallet)
    const flows = (await readNewFlows(state)).filter(({ sequence }) => sequence <= after.sequence)
    flowCount += flows.length
    add.push(...balanceFindings(state, after, flows))
    byWallet.set(
      state.wallet.bizId,
      Map.groupBy(flows, ({ orderBizId }) => orderBizId),
    )
  }
  for (const command of commands) {
    const { outcome, terms } = command
    if (outcome.kind !== 'acknowledged' || !outcome.isCompleted) continue
    for (const side of ['source', 'target'] as const)
      add.push(
        ...flowFindings(command, outcome.orderId, side, byWallet.get(terms[side].bizId)?.get(outcome.orderId) ?? []),
      )
  }
  const unclear =
    unknown.length === 0 ? '' : `, ${unknown.length} without a response of which ${executed} were executed`
  return [
    toCheck('every acknowledged order exists once', `${acknowledged} orders${unclear}`, exist),
    toCheck('balances add up', `${before.wallets.length} wallets, ${flowCount} flows`, add),
  ]
}

/** Reads a balance and the number of its newest flow. Reads both again if a flow was added in between. */
async function readWallet(reader: Actor, wallet: Wallet) {
  const newest = async (): Promise<number> => (await readFlows(reader, wallet, { pageSize: 1 }))[0]?.sequence ?? 0
  const { bizId, workspaceBizId, currency } = wallet
  let sequence = await newest()
  for (let attempt = 1; ; attempt++) {
    const at = inWorkspace(reader, workspaceBizId)
    const { data, timestamp } = await reader.patient.answer(readBalance, { ...at, params: walletParams(bizId) })
    const after = await newest()
    if (after === sequence) {
      const total = minorOf(data.totalBalance, currency)
      return {
        timestamp,
        state: { reader, wallet, total, available: minorOf(data.availableBalance, currency), sequence },
      }
    }
    if (attempt === 10) throw new Error(`wallet ${bizId} changes too often to be checked: other clients use it`)
    sequence = after
  }
}

async function readFlows(reader: Actor, { bizId, workspaceBizId }: Wallet, query: object): Promise<Flow[]> {
  const at = inWorkspace(reader, workspaceBizId)
  const sorted = { sortBy: 'sequence', sortOrder: 'desc', ...query } as const
  const { data } = await reader.patient.answer(listFlows, { ...at, params: walletParams(bizId), query: sorted })
  return data.items
}

function minorOf(amount: string, currency: string): bigint {
  const money = parseMoney(amount, currency)
  if (!money) throw new TypeError(`the reply has an invalid amount: ${amount} ${currency}`)
  return money.minor
}

type Order = Result<typeof listTransfers>['items'][number]

/** Reads the orders of every workspace that sent a command, grouped by client reference. */
async function readOrdersOf(commands: readonly Command[], { takenAt }: Snapshot): Promise<Map<string, Order[]>> {
  const readers = new Map(commands.map(({ actor, terms }) => [terms.source.workspaceBizId, actor]))
  const since = takenAt === null ? null : takenAt - clockToleranceMs
  const orders: Order[] = []
  for (const [workspaceId, actor] of readers) orders.push(...(await readOrders(actor, workspaceId, since)))
  return Map.groupBy(
    orders.filter(({ clientReference }) => clientReference !== null),
    ({ clientReference }) => clientReference ?? '',
  )
}

/** Reads all orders that a workspace created since a time. */
async function readOrders(reader: Actor, workspaceId: string, since: number | null): Promise<Order[]> {
  const orders = new Map<string, Order>()
  let startTime = since === null ? undefined : new Date(since).toISOString()
  let currentPage = 1
  for (;;) {
    const { data } = await reader.patient.answer(listTransfers, {
      ...inWorkspace(reader, workspaceId),
      query: { currentPage, pageSize, sortOrder: 'asc', ...(startTime !== undefined && { startTime }) },
    })
    for (const order of data.items) orders.set(order.bizId, order)
    if (!data.pagination.hasNext) return [...orders.values()]
    const last = data.items.at(-1)?.createdAt
    if (currentPage < pagesPerInterval || last === startTime) currentPage += 1
    else {
      startTime = last
      currentPage = 1
    }
  }
}

/** Returns what contradicts a command's outcome in the list of orders. */
function orderFindings(command: Command, found: readonly Order[]): string[] {
  const { outcome, terms } = command
  const about = describe(command)
  if (found.length > 1) return [`${about}: ${found.length} orders exist`]
  const [order] = found
  if (!order)
    return outcome.kind === 'acknowledged' ? [`${about}: the acknowledged order ${outcome.orderId} is missing`] : []
  if (outcome.kind === 'refused') return [`${about}: was refused, but order ${order.bizId} exists`]
  const findings: string[] = []
  if (outcome.kind === 'acknowledged' && outcome.orderId !== order.bizId)
    findings.push(`${about}: order ${outcome.orderId} was acknowledged, but ${order.bizId} exists`)
  if (minorOf(order.amount, order.currency) !== terms.amount.minor || order.currency !== terms.amount.currency)
    findings.push(`${about}: the order has the amount ${order.amount} ${order.currency}`)
  if (order.sourceWalletBizId !== terms.source.bizId || order.targetWalletBizId !== terms.target.bizId)
    findings.push(`${about}: the order has other wallets`)
  return findings
}

/** Reads the flows of a wallet after a sequence number. */
async function readNewFlows({ reader, wallet, sequence }: WalletState): Promise<Flow[]> {
  const flows = new Map<number, Flow>()
  let endTime: string | undefined
  let currentPage = 1
  for (;;) {
    const interval = endTime === undefined ? {} : { endTime }
    const items = await readFlows(reader, wallet, { currentPage, pageSize, ...interval })
    for (const flow of items) if (flow.sequence > sequence) flows.set(flow.sequence, flow)
    if (items.length < pageSize || items.some((flow) => flow.sequence <= sequence)) return [...flows.values()]
    const last = items.at(-1)?.createdAt
    if (currentPage < pagesPerInterval || last === endTime) currentPage += 1
    else {
      endTime = last
      currentPage = 1
    }
  }
}

/** Returns what contradicts the flows of a wallet: its balances, or the number of flows. */
function balanceFindings(before: WalletState, after: WalletState, flows: readonly Flow[]): string[] {
  const { bizId, currency } = before.wallet
  const sum = flows.reduce((total, flow) => total + signed(flow), 0n)
  const findings: string[] = []
  if (before.total + sum !== after.total)
    findings.push(`wallet ${bizId}: ${before.total} and flows of ${sum} are not ${after.total} minor units ${currency}`)
  if (flows.length !== after.sequence - before.sequence)
    findings.push(
      `wallet ${bizId}: ${after.sequence - before.sequence} flows were added, but ${flows.length} are listed`,
    )
  return findings
}

function signed({ direction, amount, currency }: Flow): bigint {
  return direction.code === 'OUT' ? -minorOf(amount, currency) : minorOf(amount, currency)
}

/** Returns what contradicts a completed order in the flows of one of its wallets. */
function flowFindings(command: Command, orderId: string, side: 'source' | 'target', flows: readonly Flow[]): string[] {
  const { bizId } = command.terms[side]
  const direction = side === 'source' ? 'OUT' : 'IN'
  const booked = flows.filter(
    (flow) => flow.orderBizId === orderId && flow.flowType.code === 'TRANSFER' && flow.direction.code === direction,
  )
  const isRight =
    booked.length === 1 && booked.every((flow) => minorOf(flow.amount, flow.currency) === command.terms.amount.minor)
  if (isRight) return []
  const amounts = booked.map(({ amount }) => amount).join(', ') || 'nothing'
  return [`${describe(command)}: wallet ${bizId} has ${amounts} ${direction} for order ${orderId}`]
}
