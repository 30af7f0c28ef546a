/* A domain of invoices: lists, fees, a second person, a job, uploads and downloads. docs/guides/real-domain.md explains it. */
import {
  addMs,
  addOrphanBlobs,
  auditContextOf,
  claimBlob,
  declaredBy,
  domain,
  download,
  feeEntries,
  feeParties,
  formatMoney,
  hours,
  type Locale,
  mapPage,
  memberContext,
  money,
  multiplyRoundingUp,
  notFound,
  parseInterval,
  parseMoney,
  Refusal,
  ratio,
  readForm,
  recordSuccess,
  storeContent,
  toDate,
  toIso,
} from 'portico'
import { moneyOf, z } from 'portico/contract'
import * as contract from './contract.ts'
import {
  deleteInvoices,
  findInvoice,
  type Invoice,
  listInvoices,
  markOverdue,
  markPaid,
  migrations,
  scanKeys,
  scanOf,
  setScan,
} from './store.ts'

const maxScanBytes = 1_000_000
const onePercent = ratio(1n, 100n)

export default domain({
  name: 'invoices',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  settings: z.strictObject({ secondPersonFrom: z.string().default('1000.00') }),
  migrations,
  needs: ['blobs', 'clock', 'database', 'ids', 'ledger', 'once', 'transaction', 'words'],
  create: ({ blobs, clock, database, ids, ledger, once, settings, transaction, words }) => {
    const view = ({ bizId, amount, currency, dueOn, status, createdAt }: Invoice, locale: Locale) => ({
      bizId: bizId,
      amount,
      currency,
      dueOn: dueOn,
      createdAt: toIso(createdAt),
      invoiceStatus: words.coded(contract.invoiceStatus, status, locale),
    })
    return {
      handlers: {
        createInvoice: (request) =>
          once(request, async (tx) => {
            const {
              body: { amount, currency, dueOn },
              caller,
              locale,
              receivedAt,
              workspace,
            } = request
            const row = {
              workspaceBizId: workspace.id,
              bizId: ids.next(),
              amount: formatMoney(amount),
              currency,
              dueOn: dueOn,
              status: 'OPEN',
              scan: null,
              createdBy: caller.accountId,
              createdAt: toDate(receivedAt),
            } as const
            return view(await tx.insertInto('invoices').values(row).returningAll().executeTakeFirstOrThrow(), locale)
          }),
        listInvoices: async ({ query, locale, workspace }) =>
          mapPage(await listInvoices(database, workspace.id, { ...query, ...parseInterval(query) }), (row) =>
            view(row, locale),
          ),
        payInvoice: (request) =>
          once(request, async (tx) => {
            const { actor } = memberContext(request)
            const workspace = request.workspace.id
            const invoice = await findInvoice(tx, workspace, request.params.invoice_id).forUpdate().executeTakeFirst()
            if (!invoice) throw notFound()
            if (invoice.status === 'PAID') throw new Refusal('INVOICE.NOT_OPEN')
            const { currency } = invoice
            const { minor } = moneyOf(invoice.amount, currency)
            const within = ledger.within(tx)
            // In a currency without these decimal places, every invoice needs a second person.
            const limit = parseMoney(settings.secondPersonFrom, currency)?.minor ?? 0n
            if (minor >= limit) await within.assertDifferentPerson(invoice.createdBy, actor)
            const wallet = await within.readDefaultWallet({ workspace, currency })
            if (!wallet) throw new Refusal('INVOICE.NOT_OPEN', { internal: 'no default wallet in the currency' })
            const fee = money(multiplyRoundingUp(minor, onePercent), currency)
            await within.execute({
              actor,
              parties: [
                {
                  label: 'source',
                  wallet: wallet.bizId,
                  workspace,
                  currency,
                  active: true,
                  currencyField: 'invoice_id',
                },
                { label: 'house', house: 'SUPPLIERS', currency, insufficientFunds: 'INVOICE.NOT_OPEN' },
                ...feeParties(fee),
              ],
              create: {
                workspace,
                type: 'INVOICE_PAYMENT',
                data: { amount: String(minor), currency },
                steps: [{ status: 'COMPLETED' }],
              },
              entries: [
                { account: 'source', amount: -minor, flowType: 'INVOICE_PAYMENT' },
                { account: 'house', amount: minor, flowType: 'INVOICE_PAYMENT' },
                ...feeEntries('source', fee),
              ],
            })
            await markPaid(tx, workspace, invoice.bizId)
            return view({ ...invoice, status: 'PAID' }, request.locale)
          }),
        uploadScan: async (request) => {
          const {
            params: { invoice_id },
            receivedAt,
            upload,
            workspace,
          } = request
          if (!(await findInvoice(database, workspace.id, invoice_id).executeTakeFirst())) throw notFound()
          const key = `scans/${ids.next()}`
          await addOrphanBlobs(database, [key], addMs(receivedAt, hours(1)))
          const {
            received: { blobKey: _, ...received },
          } = await readForm(upload, { maxBytes: maxScanBytes, fields: [] }, (part) =>
            storeContent(blobs, key, part, maxScanBytes),
          )
          await transaction(async (tx) => {
            if (!(await claimBlob(tx, key))) throw new Error('the upload took too long')
            const replaced = await findInvoice(tx, workspace.id, invoice_id).forUpdate().executeTakeFirst()
            await addOrphanBlobs(tx, scanKeys([replaced]), receivedAt)
            await setScan(tx, workspace.id, invoice_id, { key, ...received })
            await recordSuccess(tx, auditContextOf(request), { workspaceId: workspace.id, targetId: invoice_id })
          })
          return null
        },
        downloadScan: async (request) => {
          const invoice = await findInvoice(
            database,
            request.workspace.id,
            request.params.invoice_id,
          ).executeTakeFirst()
          const scan = scanOf(invoice)
          if (!scan) throw notFound()
          return download(blobs, scan, request)
        },
      },
      jobs: [
        {
          name: 'invoices.markOverdue',
          attempts: 1,
          everyMs: hours(1),
          work: async () => void (await markOverdue(database, toIso(clock.now()).slice(0, 10))),
        },
      ],
      onSandboxReset: async (tx, { workspaceId, at }) =>
        addOrphanBlobs(tx, scanKeys(await deleteInvoices(tx, workspaceId)), at),
    }
  },
})
