import { z } from 'zod'
import type { Database, Snapshot } from '../../database/index.ts'
import { type AccountId, type Clock, formatMoney, type Instant, parseInterval, toIso } from '../../kernel/index.ts'
import { flowDirection } from '../../ledger/contract.ts'
import { type Flow, type FlowQuery, type Ledger, toFlowAmountView, type Wallet } from '../../ledger/index.ts'
import { orderTypes } from './contract.ts'
import { createOrderSource } from './order-source.ts'
import { type ExportScope, type Row, readAllRows, type Source } from './source.ts'
import { readLogins } from './store.ts'

const flowColumns = [
  'bizId',
  'walletBizId',
  'sequence',
  'flowType',
  'direction',
  'amount',
  'currency',
  'balanceAfter',
  'orderType',
  'orderBizId',
  'description',
  'createdAt',
] as const

const flowKinds = { amount: 'decimal', balanceAfter: 'decimal', createdAt: 'instant' } as const

const loginColumns = ['bizId', 'loginTime', 'clientIp', 'userAgent', 'loginResult', 'failureReason'] as const

/** The contract has validated the stored filters. The others are those of an order type. */
const Filters = z
  .object({
    startTime: z.string().optional(),
    endTime: z.string().optional(),
    walletId: z
      .string()
      .transform((text) => text.toLowerCase())
      .optional(),
    flowType: z.string().optional(),
    direction: z.enum(flowDirection.codes).optional(),
    orderNo: z.string().optional(),
    clientReference: z.string().optional(),
    externalReference: z.string().optional(),
  })
  .catchall(z.string())

export interface SourcePorts {
  ledger: Ledger
  clock: Clock
  settings: { pageSize?: number }
}

/** Rows per statement: few enough for little memory, and enough that round trips do not dominate. */
const defaultPageSize = 500

export function createSource(
  { ledger, clock, settings: { pageSize = defaultPageSize } }: SourcePorts,
  { store, asOf }: Snapshot,
  scope: ExportScope,
): Source {
  const filters = Filters.parse(scope.filters)
  const { startTime, endTime, walletId, flowType, direction, ...ofOrders } = filters
  const { orderNo, clientReference, externalReference, ...others } = ofOrders
  const { workspace, account, type } = scope
  const { from, to } = parseInterval({ startTime, endTime })
  const interval = { from, to: endOf(to, asOf) }
  if (type === 'LOGIN_HISTORY') return createLoginHistorySource(store, { account, ...interval }, pageSize)
  const within = ledger.within(store)
  if (type === 'FLOWS') {
    const ofType = flowType === undefined ? undefined : ledger.parseFlowType(flowType)
    return createFlowSource(within, { workspace, walletId, flowType: ofType, direction, ...interval }, pageSize)
  }
  const name = orderTypes[type]
  const lifeCycle = within.lifeCycleOf(name)
  if (!lifeCycle) throw new Error(`no domain has the order type ${name}`)
  const { [lifeCycle.statuses.name]: status, ...data } = others
  return createOrderSource(
    within,
    { ...lifeCycle, name },
    {
      ...{ workspace, walletId, data, status, asOf, now: clock.now(), ...interval },
      references: { orderNo, clientReference, externalReference },
    },
    pageSize,
  )
}

function endOf(requested: Instant | undefined, asOf: Instant | null): Instant | undefined {
  return asOf === null || (requested !== undefined && requested < asOf) ? requested : asOf
}

type Login = Awaited<ReturnType<typeof readLogins>>[number]

function createLoginHistorySource(
  store: Database,
  { account, from: start, to }: { account: AccountId; from: Instant | undefined; to: Instant | undefined },
  pageSize: number,
): Source {
  async function* rows(): AsyncGenerator<Row> {
    const logins = readAllRows<Login>((slice) => readLogins(store, { account, to, ...slice }), start, pageSize)
    for await (const { createdAt, ...login } of logins) yield { ...login, loginTime: toIso(createdAt) }
  }
  return { columns: loginColumns, kinds: { loginTime: 'instant' }, rows: rows() }
}

type FlowExportRequest = Pick<FlowQuery, 'workspace' | 'flowType' | 'direction'> & {
  walletId: string | undefined
  from: Instant | undefined
  to: Instant | undefined
}

/** Reads one wallet after another, oldest flow first. */
function createFlowSource(ledger: Ledger, request: FlowExportRequest, pageSize: number): Source {
  async function* rows(): AsyncGenerator<Row> {
    const { walletId, from: start, ...query } = request
    for (const wallet of await ledger.listWallets(request.workspace)) {
      if (walletId !== undefined && wallet.bizId !== walletId) continue
      const ofWallet = { ...query, wallet: wallet.bizId, sortOrder: 'asc' } as const
      const flows = readAllRows<Flow>((slice) => ledger.readFlows({ ...ofWallet, ...slice }), start, pageSize)
      for await (const flow of flows) yield toFlowRow(wallet, flow)
    }
  }
  return { columns: flowColumns, kinds: flowKinds, rows: rows() }
}

function toFlowRow({ bizId: walletBizId }: Wallet, flow: Flow): Row {
  return {
    bizId: flow.bizId,
    walletBizId,
    sequence: flow.sequence,
    flowType: flow.flowType,
    ...toFlowAmountView(flow),
    currency: flow.amount.currency,
    balanceAfter: formatMoney(flow.balanceAfter),
    orderType: flow.orderType,
    orderBizId: flow.orderBizId,
    description: flow.remark,
    createdAt: toIso(flow.createdAt),
  }
}
