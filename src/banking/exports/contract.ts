import * as z from 'zod'
import type { OrderBodies } from '../../contract/catalogue.ts'
import { bizId, coded, codeOf, id, Link, timestamp } from '../../contract/fields.ts'
import { isLifeCycle } from '../../contract/ledger/life-cycle.ts'
import { interval, isForward, listQuery, page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'
import { flowFilters, type OrderFilters, type OrderType } from '../../ledger/contract.ts'

export const summary = 'Lists exported as files by a background job.'

export const permissions = {
  workspace: { export: { sortOrder: 1300, actions: ['read', 'create'] } },
} as const satisfies Permissions

export const exportStatus = codedFamily('exportStatus', {
  QUEUED: 10091601,
  RUNNING: 10091602,
  COMPLETED: 10091603,
  FAILED: 10091604,
  EXPIRED: 10091605,
})
export type ExportStatus = CodeOf<typeof exportStatus>

export const exportType = codedFamily('exportType', {
  FLOWS: 10091701,
  TRANSFERS: 10091702,
  EXCHANGES: 10091703,
  RECHARGES: 10091704,
  WITHDRAWALS: 10091705,
  LOGIN_HISTORY: 10091706,
})
export type ExportType = CodeOf<typeof exportType>

/** See `CodeDomains` in src/contract/catalogue.ts. */
export const codeDomains = {
  exportType: {
    FLOWS: 'wallets',
    TRANSFERS: 'transfers',
    EXCHANGES: 'exchanges',
    RECHARGES: 'recharges',
    WITHDRAWALS: 'withdrawals',
  },
}

export const exportFormat = codedFamily('exportFormat', { CSV: 10091801, XLSX: 10091802, JSONL: 10091803 })
export type ExportFormat = CodeOf<typeof exportFormat>

/** The order type of each list of orders. */
export const orderTypes = {
  TRANSFERS: 'TRANSFER',
  EXCHANGES: 'EXCHANGE',
  RECHARGES: 'RECHARGE',
  WITHDRAWALS: 'WITHDRAWAL',
} as const satisfies Partial<Record<ExportType, OrderType>>

const format = codeOf(exportFormat).meta({
  description:
    'In `CSV`, an apostrophe precedes text that a spreadsheet would execute. `XLSX` contains amounts as numbers and times as dates in UTC. An amount stays text if it has more than 15 significant digits or 12 decimal places, because a spreadsheet would round it.',
})

const flowExportFilters = { walletId: id.optional(), ...flowFilters }

type RequestOf<Type extends string, Filters extends z.ZodRawShape> = ReturnType<typeof requestFor<Type, Filters>>

type ExportRequest =
  | RequestOf<'FLOWS', typeof flowExportFilters>
  | {
      [Type in keyof typeof orderTypes]: RequestOf<Type, OrderFilters<(typeof orderTypes)[Type]>>
    }[keyof typeof orderTypes]
  | RequestOf<'LOGIN_HISTORY', Record<never, never>>

/** `orderBodies` has the schema. */
const ExportRequest = z.custom<z.input<ExportRequest>>(() => false)

/** See `OrderBodies` in src/contract/catalogue.ts. The filters of a list of orders are those of its order type. */
export const orderBodies: OrderBodies = {
  createExport: (types) =>
    z
      .discriminatedUnion('exportType', [
        requestFor('FLOWS', flowExportFilters),
        ...Object.entries(orderTypes).flatMap(([exportType, name]) => {
          const type = types.get(name)
          return isLifeCycle(type) ? [requestFor(exportType, type.filters)] : []
        }),
        requestFor('LOGIN_HISTORY', {}),
      ])
      .refine((body) => isForward(body.filters ?? {}), { path: ['filters', 'endTime'] }),
}

const Export = z.object({
  bizId,
  exportType: coded(exportType),
  format: coded(exportFormat),
  exportStatus: coded(exportStatus),
  fileName: z.string().nullable(),
  rowCount: z.int().nullable(),
  sizeBytes: z.int().nullable(),
  failureCode: z.string().nullable(),
  createdAt: timestamp,
  completedAt: timestamp.nullable(),
  expiresAt: timestamp.nullable(),
})

const reading = { ...member, workspace: 'optional', permission: 'export:read' } as const
const get = { method: 'GET', chains: ['consumer'], body: 'none' } as const

export const listExports = operation({
  ...get,
  id: 'exports.list',
  path: '/exports',
  summary: 'List the exports of a workspace',
  policy: reading,
  query: listQuery(['createdAt', 'completedAt'], {
    exportType: codeOf(exportType).optional(),
    exportStatus: codeOf(exportStatus).optional(),
  }),
  reply: page(Export),
  refuses: [],
})

export const createExport = operation({
  id: 'exports.create',
  method: 'POST',
  path: '/exports',
  chains: ['consumer'],
  summary: 'Export a list to a file in the background',
  policy: { ...member, workspace: 'optional', permission: 'export:create', rate: 'export' },
  body: ExportRequest,
  reply: Export,
  refuses: [],
})

export const readExport = operation({
  ...get,
  id: 'exports.read',
  path: '/exports/{export_id}',
  summary: 'Read an export and its progress',
  policy: { ...reading, workspace: 'required' },
  reply: Export,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const downloadExport = operation({
  ...get,
  id: 'exports.download',
  path: '/exports/{export_id}/download',
  summary: 'Download the file of a completed export',
  policy: { ...reading, channel: 'none' },
  reply: 'stream',
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT', 'FILE.RANGE_NOT_SATISFIABLE'],
})

export const linkExport = operation({
  id: 'exports.link',
  method: 'POST',
  path: '/exports/{export_id}/link',
  chains: ['consumer'],
  summary: 'Create a one-time URL of the file of a completed export',
  policy: reading,
  body: 'none',
  reply: Link,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})

function requestFor<Type extends string, Filters extends z.ZodRawShape>(exportType: Type, filters: Filters) {
  return z.strictObject({
    exportType: z.literal(exportType).meta({ title: 'exportType.code' }),
    format,
    filters: z.strictObject({ ...interval, ...filters }).optional(),
  })
}
