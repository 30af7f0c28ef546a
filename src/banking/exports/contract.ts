import * as z from 'zod'
import { bizId, coded, codeOf, id, timestamp } from '../../contract/fields.ts'
import { interval, isForward, listQuery, page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { member } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'

import { exchanges } from '../exchanges/contract.ts'
import { recharges } from '../recharges/contract.ts'
import { transfers } from '../transfers/contract.ts'
import { flowFilters } from '../wallets/contract.ts'
import { withdrawals } from '../withdrawals/contract.ts'

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

const filters = {
  FLOWS: { walletId: id.optional(), ...flowFilters },
  TRANSFERS: transfers.filters,
  EXCHANGES: exchanges.filters,
  RECHARGES: recharges.filters,
  WITHDRAWALS: withdrawals.filters,
  LOGIN_HISTORY: {},
} as const satisfies Record<ExportType, z.ZodRawShape>

const format = codeOf(exportFormat).meta({
  description:
    'In `CSV`, an apostrophe precedes text that a spreadsheet would execute. `XLSX` contains amounts as numbers and times as dates in UTC. An amount stays text if it has more than 15 significant digits or 12 decimal places, because a spreadsheet would round it.',
})

const ExportRequest = z
  .discriminatedUnion('exportType', [
    requestFor('FLOWS'),
    requestFor('TRANSFERS'),
    requestFor('EXCHANGES'),
    requestFor('RECHARGES'),
    requestFor('WITHDRAWALS'),
    requestFor('LOGIN_HISTORY'),
  ])
  .refine((body) => isForward(body.filters ?? {}), { path: ['filters', 'endTime'] })

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

function requestFor<T extends keyof typeof filters>(exportType: T) {
  return z.strictObject({
    exportType: z.literal(exportType).meta({ title: 'exportType.code' }),
    format,
    filters: z.strictObject({ ...interval, ...filters[exportType] }).optional(),
  })
}
