import { z } from 'zod'
import type { Snapshot } from '../../../database/index.ts'
import { type AccountId, type Clock, type Instant, parseInterval, type WorkspaceId } from '../../../kernel/index.ts'
import { flowDirection, flowType } from '../../../ledger/contract.ts'
import type { Ledger } from '../../../ledger/index.ts'
import type { ExportType } from '../contract.ts'
import { flowSource } from './flows.ts'
import { loginHistorySource } from './login-history-store.ts'
import { orderKinds } from './order-columns.ts'
import { orderSource } from './orders.ts'
import type { Source } from './row.ts'

const text = z.string().optional()

/** The filters as they were kept: checked by the contract when they came. */
const Filters = z.object({
  startTime: z.string().optional(),
  endTime: z.string().optional(),
  walletId: z
    .string()
    .transform((text) => text.toLowerCase())
    .optional(),
  flowType: z.enum(flowType.codes).optional(),
  direction: z.enum(flowDirection.codes).optional(),
  transferStatus: text,
  sourceCurrency: text,
  targetCurrency: text,
  exchangeStatus: text,
  rechargeStatus: text,
  withdrawalStatus: text,
})

export interface ExportScope {
  type: ExportType
  workspace: WorkspaceId
  account: AccountId
  filters: unknown
}

/** The earlier of what was asked for and what the snapshot holds. */
const until = (asked: Instant | undefined, asOf: Instant | null): Instant | undefined =>
  asOf === null || (asked !== undefined && asked < asOf) ? asked : asOf

export interface SourcePorts {
  ledger: Ledger
  clock: Clock
  settings: { pageSize: number }
}

/** The list that an export is of, over one snapshot. */
export const sourceOf = (
  { ledger, clock, settings: { pageSize } }: SourcePorts,
  { store, asOf }: Snapshot,
  scope: ExportScope,
): Source => {
  const { startTime, endTime, walletId, flowType, direction, sourceCurrency, targetCurrency, ...statuses } =
    Filters.parse(scope.filters)
  const { workspace, account, type } = scope
  const { from, to } = parseInterval({ startTime, endTime })
  const interval = { from, to: until(to, asOf) }
  if (type === 'LOGIN_HISTORY') return loginHistorySource(store, { account, ...interval }, pageSize)
  const book = ledger.within(store)
  if (type === 'FLOWS') return flowSource(book, { workspace, walletId, flowType, direction, ...interval }, pageSize)
  const kind = orderKinds[type]
  const data = { ...(sourceCurrency && { sourceCurrency }), ...(targetCurrency && { targetCurrency }) }
  return orderSource(
    book,
    kind,
    { workspace, walletId, data, status: statuses[kind.status], asOf, now: clock.now(), ...interval },
    pageSize,
  )
}
