import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { runCli } from '../../harness/cli.ts'
import { startConfigured } from '../../harness/configured.ts'
import { type Answer, type Call, requiredHeaders, send } from '../../harness/http.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import type { PorticoProcess } from '../../harness/process.ts'
import { outboxOf, signIn } from '../../harness/sign-in.ts'
import { createStore, type TestStore } from '../../harness/store.ts'

const { workspace, mainUsd } = developmentIds
const password = 'a-long-enough-passphrase-7'
const approver = 'operator.of.loans@example.test'
const loans = {
  extensions: ['./examples/loans/index.ts'],
  domains: { loans: { maxAmount: '5000.00', capital: { USD: '2000.00' } } },
}

describe('the ledger types of an extension', needsStore(), () => {
  let store: TestStore
  let gateway: PorticoProcess
  const tokens = { owner: '', operator: '', approver: '' }

  const call = (method: string, path: string, options: Call = {}): Promise<Answer> =>
    send(gateway.url, method, path, options)
  const member = (method: string, path: string, options: Call = {}) =>
    call(method, `/web/v1/consumer${path}`, { token: tokens.owner, workspace, ...options })
  const operator = (path: string) => call('GET', `/web/v1/system${path}`, { token: tokens.operator })
  const data = async (answer: Promise<Answer>) => {
    const { status, text, body } = await answer
    expect(status, text).toBe(200)
    return body.data
  }
  const apply = async (amount: string, options: Call = {}): Promise<string> =>
    (await data(member('POST', '/loans', { body: { amount, currency: 'USD' }, ...options }))).bizId
  const approve = (loan: string) => call('POST', `/web/v1/system/loans/${loan}/approve`, { token: tokens.approver })
  const repay = (loan: string, amount: string, options: Call = {}) =>
    member('POST', `/loans/${loan}/repay`, { body: { amount }, ...options })
  const paidOut = async (amount: string, options: Call = {}): Promise<string> => {
    const loan = await apply(amount, options)
    await data(approve(loan))
    return loan
  }
  const read = async (loan: string) =>
    (await data(member('GET', '/loans'))).find(({ bizId }: { bizId: string }) => bizId === loan)
  const balance = async (): Promise<number> =>
    Number((await data(member('GET', `/wallets/${mainUsd}/balance`))).totalBalance)
  const flows = async (query = '', options: Call = {}) =>
    (await data(member('GET', `/wallets/${mainUsd}/flows?sortOrder=desc${query}`, options))).items
  const holds = async (): Promise<boolean> => (await data(operator('/ledger/invariants'))).holds

  const start = async (configuration: object): Promise<void> => {
    gateway = await startConfigured({ ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }, configuration)
    const mailTo = outboxOf(gateway)
    tokens.owner = (await signIn({ call, mailTo })).accessToken
    tokens.operator = (await signIn({ call, mailTo }, 'operator@demo.test')).accessToken
    tokens.approver = (await signIn({ call, mailTo }, approver, {}, password, 'system')).accessToken
  }
  const restart = async (configuration: object): Promise<void> => {
    await gateway.stop()
    await start(configuration)
  }

  beforeAll(async () => {
    store = await createStore()
    // The serving role cannot create the tables of an extension.
    if (store.databaseUrl !== '') store.variables.DATABASE_URL = store.databaseUrl
    const create = ['operator', 'create', '--email', approver, '--name', 'Approver', '--reason', 'a test']
    const options = ['--permissions', 'loan:approve', '--password-stdin']
    const created = await runCli([...create, ...options], loans, store.variables, password)
    expect(created.code, created.err).toBe(0)
    await start(loans)
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
  })

  test('loans.approve 200: pays out from the house account, as an order and a flow of its own types', async () => {
    const loan = await paidOut('12.34')
    expect(await read(loan)).toMatchObject({ loanStatus: { code: 'PAID_OUT' }, repaidAmount: '0.00' })
    const [flow] = await flows()
    expect(flow).toMatchObject({
      flowType: { code: 'LOAN_PAYOUT', value: 20000201, label: 'Loan payout' },
      direction: { code: 'IN' },
      amount: '12.34',
      orderType: 'LOAN_PAYOUT',
    })
    const postings = await data(operator(`/ledger/orders/${flow.orderBizId}/postings`))
    expect(postings).toMatchObject([
      { orderType: 'LOAN_PAYOUT', ledgerAccount: 'LOANS:USD', amount: '-12.34' },
      { orderType: 'LOAN_PAYOUT', ledgerAccount: 'WALLET', walletBizId: mainUsd, amount: '12.34' },
    ])
  })

  test('loans.approve 422 LOAN.NOT_AVAILABLE: the house account has insufficient funds, and nothing changes', async () => {
    const [loan, before] = [await apply('4999.00'), await balance()]
    const refused = await approve(loan)
    expect([refused.status, refused.body.code]).toEqual([422, 'LOAN.NOT_AVAILABLE'])
    expect((await read(loan)).loanStatus.code).toBe('REQUESTED')
    expect(await balance()).toBe(before)
  })

  test('loans.repay 200: in parts until REPAID, then 409 STATE.CONFLICT', async () => {
    const loan = await paidOut('100.00')
    const part = await data(repay(loan, '40.00'))
    expect(part).toMatchObject({ repaidAmount: '40.00', loanStatus: { code: 'PAID_OUT' } })
    const rest = await data(repay(loan, '60.00'))
    expect(rest).toMatchObject({ repaidAmount: '100.00', loanStatus: { code: 'REPAID', label: 'Repaid' } })
    expect((await flows())[0]).toMatchObject({ flowType: { code: 'LOAN_REPAYMENT' }, direction: { code: 'OUT' } })
    const again = await repay(loan, '0.01')
    expect([again.status, again.body.code]).toEqual([409, 'STATE.CONFLICT'])
  })

  test('loans.repay 422 LOAN.OVERPAID: nothing is posted', async () => {
    const loan = await paidOut('10.00')
    const before = await balance()
    const refused = await repay(loan, '10.01')
    expect([refused.status, refused.body.code]).toEqual([422, 'LOAN.OVERPAID'])
    expect([await balance(), (await read(loan)).repaidAmount]).toEqual([before, '0.00'])
  })

  test('loans.repay 409 STATE.CONFLICT before the payout, 404 RESOURCE.NOT_FOUND in another workspace', async () => {
    const loan = await apply('10.00')
    expect((await repay(loan, '1.00')).body.code).toBe('STATE.CONFLICT')
    const other = (await data(member('POST', '/workspaces', { body: { workspaceName: 'Other' } }))).bizId
    expect((await repay(loan, '1.00', { workspace: other })).body.code).toBe('RESOURCE.NOT_FOUND')
  })

  test('loans.repay: parallel repayments never exceed the loan', async () => {
    const loan = await paidOut('100.00')
    const before = await balance()
    const answers = await Promise.all(Array.from({ length: 12 }, () => repay(loan, '30.00')))
    const codes = answers.map(({ status, body }) => (status === 200 ? 200 : body.code)).sort()
    expect(codes).toEqual([...Array(3).fill(200), ...Array(9).fill('LOAN.OVERPAID')])
    expect((await read(loan)).repaidAmount).toBe('90.00')
    expect(before - (await balance())).toBeCloseTo(90)
    expect(await holds()).toBe(true)
  })

  test('loans.repay 200: a retry after an abort and after a restart returns the original result', async () => {
    const loan = await paidOut('50.00')
    const before = await balance()
    const headers = { 'x-request-id': 'repay-aborted' }
    const abort = new AbortController()
    const aborted = fetch(`${gateway.url}/web/v1/consumer/loans/${loan}/repay`, {
      method: 'POST',
      headers: {
        ...requiredHeaders(),
        ...headers,
        authorization: `Bearer ${tokens.owner}`,
        'x-workspace-id': workspace,
      },
      body: JSON.stringify({ amount: '20.00' }),
      signal: abort.signal,
    }).catch(() => undefined)
    setTimeout(() => abort.abort(), 5)
    await aborted
    const attempt = () => repay(loan, '20.00', { headers })
    await expect.poll(async () => (await attempt()).status).toBe(200)
    const first = await data(attempt())
    expect(first.repaidAmount).toBe('20.00')
    await data(repay(loan, '5.00'))
    await restart(loans)
    expect(await data(attempt())).toEqual(first)
    expect(before - (await balance())).toBeCloseTo(25)
    const reused = await repay(loan, '21.00', { headers })
    expect([reused.status, reused.body.code]).toEqual([422, 'REQUEST.ID_REUSED'])
  })

  // The embedded store of the development profile does not wait for the disk.
  test(
    'loans.repay 200: a retry after the gateway was killed takes effect once',
    inTopology('distributed'),
    async () => {
      const loan = await paidOut('50.00')
      const before = await balance()
      const attempt = () => repay(loan, '20.00', { headers: { 'x-request-id': 'repay-killed' } })
      const inFlight = attempt().catch(() => undefined)
      setTimeout(() => gateway.child.kill('SIGKILL'), 4)
      await Promise.all([once(gateway.child, 'exit'), inFlight])
      await start(loans)
      await expect.poll(async () => (await attempt()).status).toBe(200)
      expect((await data(attempt())).repaidAmount).toBe('20.00')
      expect(before - (await balance())).toBeCloseTo(20)
      expect(await holds()).toBe(true)
    },
  )

  test('loans.repay 422 WALLET.INSUFFICIENT_FUNDS: the loan stays as it was', async () => {
    const loan = await paidOut('30.00')
    const amount = (await balance()).toFixed(2)
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: developmentIds.savingsUsd, amount, currency: 'USD' }
    await data(member('POST', '/transfer/command/create', { body }))
    const refused = await repay(loan, '1.00')
    expect([refused.status, refused.body.code]).toEqual([422, 'WALLET.INSUFFICIENT_FUNDS'])
    expect((await read(loan)).repaidAmount).toBe('0.00')
    const back = { ...body, sourceWalletBizId: developmentIds.savingsUsd, targetWalletBizId: mainUsd }
    await data(member('POST', '/transfer/command/create', { body: back }))
  })

  test('wallets.flows 200: filters by an own flow type; 400 for a type that no domain declares', async () => {
    const payouts = await flows('&flowType=LOAN_PAYOUT')
    expect(payouts.length).toBeGreaterThan(0)
    for (const { flowType } of payouts) expect(flowType.code).toBe('LOAN_PAYOUT')
    const unknown = await member('GET', `/wallets/${mainUsd}/flows?flowType=NO_SUCH_TYPE`)
    expect([unknown.status, unknown.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(unknown.body.message).toContain('flowType')
  })

  test('wallets.flows 200: labels in the language of the request, and in English without a translation', async () => {
    const labelIn = async (locale: string, type: string) =>
      (await flows(`&flowType=${type}`, { headers: { 'x-locale': locale } }))[0].flowType.label
    expect(await labelIn('ja', 'LOAN_PAYOUT')).toBe('融資の実行')
    expect(await labelIn('ja', 'LOAN_REPAYMENT')).toBe('Loan repayment')
    expect(await labelIn('vi', 'LOAN_PAYOUT')).toBe('Loan payout')
  })

  test('exports.create 200: exports flows of own types; 400 for a type that no domain declares', async () => {
    const request = (flowType: string) =>
      member('POST', '/exports', { body: { exportType: 'FLOWS', format: 'CSV', filters: { flowType } } })
    const { bizId } = await data(request('LOAN_REPAYMENT'))
    const path = `/exports/${bizId}`
    await expect.poll(async () => (await data(member('GET', path))).exportStatus.code).toBe('COMPLETED')
    const { text } = await member('GET', `${path}/download`)
    const [header = '', ...rows] = text.trim().split('\r\n')
    expect(header).toContain(',flowType,')
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows) expect(row.split(',').filter((each) => each === 'LOAN_REPAYMENT')).toHaveLength(2)
    expect((await request('NO_SUCH_TYPE')).body.code).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test('the OpenAPI document lists the own flow types', async () => {
    const { paths, components } = await (await fetch(`${gateway.url}/openapi.json`)).json()
    const codes = { $ref: '#/components/schemas/FlowTypeCode' }
    expect(components.schemas.FlowTypeCode.enum).toEqual(expect.arrayContaining(['LOAN_PAYOUT', 'LOAN_REPAYMENT']))
    expect(components.schemas.FlowType.properties.code).toEqual(codes)
    const { parameters } = paths['/web/v1/consumer/wallets/{wallet_id}/flows'].get
    expect(parameters).toContainEqual(expect.objectContaining({ name: 'flowType', schema: codes }))
  })

  test('sandbox.reset 200: a sandbox borrows from its own account, and a reset ends its loans', async () => {
    const create = { workspaceName: 'Play', workspaceKind: 'SANDBOX' }
    const sandbox = (await data(member('POST', '/workspaces', { body: create }))).bizId
    const loan = await paidOut('4000.00', { workspace: sandbox })
    await data(repay(loan, '1.00', { workspace: sandbox }))
    await data(member('POST', '/sandbox/reset', { workspace: sandbox }))
    expect(await data(member('GET', '/loans', { workspace: sandbox }))).toEqual([])
    for (const wallet of await data(member('GET', '/wallets', { workspace: sandbox }))) {
      const { totalBalance } = await data(member('GET', `/wallets/${wallet.bizId}/balance`, { workspace: sandbox }))
      expect(Number(totalBalance)).toBe(10_000)
    }
    expect(await holds()).toBe(true)
  })

  test.each([
    ['off', { ...loans, domains: { loans: 'off' } }],
    ['removed', {}],
  ])('flows and postings remain readable while the domain is %s', async (_name, configuration) => {
    await restart(configuration)
    const flow = (await flows()).find(({ orderType }: { orderType: string }) => orderType === 'LOAN_PAYOUT')
    expect(flow.flowType).toEqual({ code: 'LOAN_PAYOUT', value: 0, label: 'LOAN_PAYOUT', description: 'LOAN_PAYOUT' })
    const postings = await data(operator(`/ledger/orders/${flow.orderBizId}/postings`))
    expect(postings).toMatchObject([{ orderType: 'LOAN_PAYOUT', ledgerAccount: 'LOANS:USD' }, {}])
    expect(await holds()).toBe(true)
    await restart(loans)
    expect((await flows('&flowType=LOAN_PAYOUT'))[0].flowType.label).toBe('Loan payout')
  })

  test('ledger verify: exit code 0', async () => {
    await gateway.stop()
    const { code, out } = await runCli(['ledger', 'verify'], loans, store.variables)
    expect([code, out]).toEqual([0, 'the ledger is consistent\n'])
  })
})
