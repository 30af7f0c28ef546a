/* Tests of the invoices domain with the testing kit: `npx vitest run`. */
import { bankingDomains } from 'portico'
import { type Place, promises, startPortico, type TestPortico } from 'portico/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from './contract.ts'
import invoices from './index.ts'

const body = { amount: '120.00', currency: 'USD', dueOn: '2027-01-31' }
async function created(place: Place) {
  return {
    params: { invoice_id: (await place.run(contract.createInvoice, { body })).bizId },
  }
}
const samples = { 'invoices.create': () => ({ body }), 'invoices.pay': created, 'invoices.downloadScan': created }
promises([invoices], { describe, test, beforeAll, afterAll, expect }, { samples })

describe('invoices', () => {
  const workspaceId = '01990000-0000-7000-8000-000000000002'
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, invoices], contract: [contract] })
  })
  afterAll(() => portico?.stop())
  const create = async (changes = {}) => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const { bizId } = await owner.createInvoice({ workspaceId, body: { ...body, ...changes } })
    return { owner, params: { invoice_id: bizId } }
  }

  test('invoices.pay 200: posts the amount and a fee of one percent, once', async () => {
    const { owner, params } = await create()
    const walletId =
      (await owner.listWallets({ workspaceId })).find(({ currency, isDefault }) => currency === 'USD' && isDefault)
        ?.bizId ?? ''
    const balance = async () =>
      Number((await owner.readBalance({ workspaceId, params: { wallet_id: walletId } })).availableBalance)
    const before = await balance()
    expect((await owner.payInvoice({ workspaceId, params })).invoiceStatus.code).toBe('PAID')
    expect(before - (await balance())).toBeCloseTo(121.2)
    await expect(owner.payInvoice({ workspaceId, params })).rejects.toMatchObject({ code: 'INVOICE.NOT_OPEN' })
  })
  test('invoices.pay 403 ACCESS.PERMISSION_DENIED: a large invoice needs a second person', async () => {
    const { owner, params } = await create({ amount: '1000.00' })
    await expect(owner.payInvoice({ workspaceId, params })).rejects.toMatchObject({ code: 'ACCESS.PERMISSION_DENIED' })
  })
  test('invoices.downloadScan 200: has the bytes of the upload', async () => {
    const { owner, params } = await create()
    const form = new FormData()
    form.append('file', new Blob(['plain text'], { type: 'text/plain' }), 'scan.txt')
    await owner.uploadScan({ workspaceId, params, body: form })
    expect(await (await owner.downloadScan({ workspaceId, params })).text()).toBe('plain text')
  })
  test('invoices.list 200: a page of overdue invoices', async () => {
    const { owner, params } = await create({ dueOn: '2020-01-31' })
    await portico.runJob('invoices.markOverdue')
    const { items, pagination } = await owner.listInvoices({ workspaceId, query: { status: 'OVERDUE', pageSize: '1' } })
    expect([items.map(({ bizId }) => bizId), pagination.totalRecords]).toEqual([[params.invoice_id], 1])
  })
})
