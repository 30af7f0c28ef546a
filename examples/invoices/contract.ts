/* The operations of invoices. This module is safe in a browser. */
import {
  amount,
  bizId,
  coded,
  codedFamily,
  currency,
  decimal,
  type LedgerTypes,
  listQuery,
  member,
  money,
  operation,
  page,
  timestamp,
  withMoney,
  z,
} from 'portico/contract'

export const summary = 'Invoices of a workspace.'
export const codes = { 'INVOICE.NOT_OPEN': { status: 409 } } as const
export const permissions = {
  workspace: { invoice: { sortOrder: 200_000, actions: ['read', 'create', 'pay'], powers: ['pay'] } },
} as const
export const ledgerTypes = {
  orders: { INVOICE_PAYMENT: { prefix: 'IVP', open: [], final: ['COMPLETED'] } },
  flowTypes: { INVOICE_PAYMENT: 20990301 },
  houseAccounts: ['SUPPLIERS'],
} as const satisfies LedgerTypes
export const invoiceStatus = codedFamily('invoiceStatus', { OPEN: 20990101, PAID: 20990102, OVERDUE: 20990103 })
declare global {
  interface PorticoCodes {
    invoices: typeof codes
  }
  interface PorticoLedger {
    invoices: typeof ledgerTypes
  }
}

const date = z.iso.date()
const Invoice = z.object({
  bizId,
  amount: decimal,
  currency: z.string(),
  dueOn: date,
  invoiceStatus: coded(invoiceStatus),
  createdAt: timestamp,
})
const shared = { chains: ['consumer', 'api'] } as const
const own = { ...member, workspace: 'required' } as const

export const createInvoice = operation({
  ...shared,
  id: 'invoices.create',
  method: 'POST',
  path: '/invoices',
  summary: 'Create an invoice',
  policy: { ...own, permission: 'invoice:create', idempotent: true },
  examples: { body: { amount: '120.00', currency: 'USD', dueOn: '2027-01-31' } },
  body: withMoney(z.strictObject({ amount, currency, dueOn: date }), (body) => body.currency),
  reply: Invoice,
  refuses: [],
})
export const listInvoices = operation({
  ...shared,
  id: 'invoices.list',
  method: 'GET',
  path: '/invoices',
  summary: 'List invoices',
  policy: { ...own, permission: 'invoice:read' },
  query: listQuery(['createdAt', 'dueOn'], { status: z.enum(invoiceStatus.codes).optional() }),
  body: 'none',
  reply: page(Invoice),
  refuses: [],
})
export const payInvoice = operation({
  ...shared,
  id: 'invoices.pay',
  method: 'POST',
  path: '/invoices/{invoice_id}/pay',
  summary: 'Pay an invoice',
  policy: { ...money, workspace: 'required', permission: 'invoice:pay' },
  body: 'none',
  reply: Invoice,
  refuses: ['RESOURCE.NOT_FOUND', 'INVOICE.NOT_OPEN', 'WALLET.NOT_ACTIVE', 'WALLET.INSUFFICIENT_FUNDS'],
})
export const uploadScan = operation({
  ...shared,
  id: 'invoices.uploadScan',
  method: 'PUT',
  path: '/invoices/{invoice_id}/scan',
  summary: 'Upload a scan',
  policy: { ...own, permission: 'invoice:create' },
  body: 'multipart',
  reply: z.null(),
  refuses: ['RESOURCE.NOT_FOUND', 'REQUEST.TOO_LARGE'],
})
export const downloadScan = operation({
  ...shared,
  id: 'invoices.downloadScan',
  method: 'GET',
  path: '/invoices/{invoice_id}/scan',
  summary: 'Download a scan',
  policy: { ...own, permission: 'invoice:read' },
  body: 'none',
  reply: 'stream',
  refuses: ['RESOURCE.NOT_FOUND', 'FILE.RANGE_NOT_SATISFIABLE'],
})
