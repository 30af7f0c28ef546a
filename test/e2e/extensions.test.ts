import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli, runProgram } from '../harness/cli.ts'
import { startConfigured } from '../harness/configured.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import type { Portico } from '../harness/portico.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { outboxOf, signIn } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

const workspace = developmentIds.workspace
const password = 'a-long-enough-passphrase-7'
/** `sameAsOwner` is also the owner of the workspace. */
const approver = 'operator.of.loans@example.test'
const sameAsOwner = 'owner@demo.test'
const loans = {
  extensions: ['./examples/loans/index.ts'],
  domains: { loans: { maxAmount: '5000.00', capital: { USD: '100000.00' } } },
}

// In other topologies, `serve` cannot create tables.
describe('an extension', () => {
  let store: TestStore
  let gateway: PorticoProcess
  let owner: string
  let member: string
  let operator: string
  let ownerAsOperator: string
  const call = (method: string, path: string, options?: Call): Promise<Answer> =>
    send(gateway.url, method, path, options)
  const mailTo: Portico['mailTo'] = (address, template) => outboxOf(gateway)(address, template)
  const apply = (options: Call = {}) =>
    call('POST', '/web/v1/consumer/loans', {
      token: owner,
      workspace,
      body: { amount: '100.00', currency: 'USD' },
      ...options,
    })

  beforeAll(async () => {
    store = await createStore()
    // Seeded operators have Portico's own permissions only.
    for (const email of [approver, sameAsOwner]) {
      const create = ['operator', 'create', '--email', email, '--name', 'Approver', '--reason', 'a test']
      const options = ['--permissions', 'loan:approve', '--password-stdin']
      const created = await runCli([...create, ...options], loans, store.variables, password)
      expect(created.code, created.err).toBe(0)
    }
    gateway = await startConfigured({ ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }, loans)
    const tokenOf = async (email: string) => (await signIn({ call, mailTo }, email)).accessToken
    owner = await tokenOf('owner@demo.test')
    member = await tokenOf('member@demo.test')
    const operatorToken = async (email: string) =>
      (await signIn({ call, mailTo }, email, {}, password, 'system')).accessToken
    operator = await operatorToken(approver)
    ownerAsOperator = await operatorToken(sameAsOwner)
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
  })

  test('loans.apply 200: returns the loan, and loans.list contains it', async () => {
    const applied = await apply()
    expect(applied.status, applied.text).toBe(200)
    expect(applied.body.data).toMatchObject({
      amount: '100.00',
      loanStatus: { code: 'REQUESTED', value: 20000101, label: 'Requested' },
    })
    const listed = await call('GET', '/web/v1/consumer/loans', { token: owner, workspace })
    expect(listed.body.data).toContainEqual(applied.body.data)
  })

  test('loans.apply 200: takes effect once per X-Request-Id', async () => {
    const headers = { 'x-request-id': 'loan-once' }
    const [first, second] = await Promise.all([apply({ headers }), apply({ headers })])
    const again = await apply({ headers })
    const replies = [first, second, again].filter(({ status }) => status === 200)
    expect(new Set(replies.map(({ body }) => body.data.bizId)).size).toBe(1)
    expect([first, second, again].filter(({ status }) => status !== 200).map(({ body }) => body.code)).toEqual(
      replies.length === 3 ? [] : ['REQUEST.IN_PROGRESS'],
    )
  })

  test('loans.apply 422 REQUEST.ID_REUSED: the same X-Request-Id with another body', async () => {
    const headers = { 'x-request-id': 'loan-reused' }
    expect((await apply({ headers })).status).toBe(200)
    const reused = await apply({ headers, body: { amount: '101.00', currency: 'USD' } })
    expect([reused.status, reused.body.code]).toEqual([422, 'REQUEST.ID_REUSED'])
  })

  test('loans.apply 422 LOAN.NOT_ELIGIBLE: above the configured maximum, with the sentence of the extension', async () => {
    const body = { amount: '5000.01', currency: 'USD' }
    const refused = await apply({ body })
    expect([refused.status, refused.body.code]).toEqual([422, 'LOAN.NOT_ELIGIBLE'])
    expect(refused.body.message).toBe('the workspace is not eligible for this loan')
    const japanese = await apply({ body, headers: { 'x-locale': 'ja' } })
    expect(japanese.body.message).toBe('このワークスペースは融資の対象外です')
    const vietnamese = await apply({ body, headers: { 'x-locale': 'vi' } })
    expect(vietnamese.body.message).toBe('the workspace is not eligible for this loan')
  })

  test.each([
    [
      'an unknown field',
      { body: { amount: '1.00', currency: 'USD', extra: true } },
      400,
      'VALIDATION.INVALID_PARAMETER',
    ],
    ['a malformed amount', { body: { amount: '1e3', currency: 'USD' } }, 400, 'VALIDATION.INVALID_PARAMETER'],
    ['no access code', { headers: { 'x-portal-access-code': null } }, 403, 'ACCESS.PORTAL_MISMATCH'],
    ['no token', { token: '' }, 401, 'ACCESS.TOKEN_MISSING'],
    ['a foreign workspace', { workspace: '01990000-0000-7000-8000-0000000000ff' }, 403, 'ACCESS.PERMISSION_DENIED'],
  ] satisfies [string, Call, number, string][])(
    'loans.apply: the pipeline refuses %s',
    async (_name, options, status, code) => {
      const refused = await apply(options)
      expect([refused.status, refused.body.code]).toEqual([status, code])
    },
  )

  test('loans.apply 403 ACCESS.PERMISSION_DENIED: a member without loan:create', async () => {
    const refused = await apply({ token: member })
    expect([refused.status, refused.body.code]).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
  })

  test('loans.approve: 200 once, then 409 STATE.CONFLICT; 404 RESOURCE.NOT_FOUND for an unknown loan', async () => {
    const { body } = await apply()
    const approve = (id: string) => call('POST', `/web/v1/system/loans/${id}/approve`, { token: operator })
    const first = await approve(body.data.bizId)
    expect(first.status, first.text).toBe(200)
    expect(first.body.data.loanStatus.code).toBe('PAID_OUT')
    expect((await approve(body.data.bizId)).body.code).toBe('STATE.CONFLICT')
    expect((await approve('01990000-0000-7000-8000-0000000000ff')).body.code).toBe('RESOURCE.NOT_FOUND')
  })

  test('loans.approve 200: pays the loan out once, and mails the person who applied', async () => {
    const balance = async (): Promise<number> => {
      const path = `/web/v1/consumer/wallets/${developmentIds.mainUsd}/balance`
      return Number((await call('GET', path, { token: owner, workspace })).body.data.totalBalance)
    }
    const before = await balance()
    const { body } = await apply({ body: { amount: '12.34', currency: 'USD' } })
    const approve = () => call('POST', `/web/v1/system/loans/${body.data.bizId}/approve`, { token: operator })
    const both = await Promise.all([approve(), approve()])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await balance()) - before).toBeCloseTo(12.34)
    const mail = async () => (await mailTo('owner@demo.test', 'loans.paid-out')).text
    await expect.poll(mail).toContain('A loan of 12.34 USD was paid out')
  })

  test('loans.approve 403 ACCESS.PERMISSION_DENIED: nobody approves their own loan, not even by another account', async () => {
    const { body } = await apply()
    const approve = (token: string) => call('POST', `/web/v1/system/loans/${body.data.bizId}/approve`, { token })
    const refused = await approve(ownerAsOperator)
    expect([refused.status, refused.body.code]).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    expect((await approve(operator)).status).toBe(200)
  })

  test('the permission tree and the OpenAPI document contain the declarations of the extension', async () => {
    const document = await (await fetch(`${gateway.url}/openapi.json`)).json()
    const { post } = document.paths['/web/v1/consumer/loans']
    expect(post).toMatchObject({ summary: 'Apply for a loan', tags: ['loans'] })
    expect(document.components.schemas.LoanStatusCode.enum).toEqual(['REQUESTED', 'PAID_OUT', 'EXPIRED', 'REPAID'])
    expect(JSON.stringify(document.components.responses)).toContain('LOAN.NOT_ELIGIBLE')
    const tree = await call('GET', '/web/v1/consumer/roles/permissions/tree', { token: owner, workspace })
    expect(tree.text).toContain('"loan:create"')
    const { out } = await runProgram(['openapi'], loans)
    expect(JSON.parse(out).paths).toEqual(document.paths)
  })

  test('a restart finds the migration applied', async () => {
    await gateway.stop()
    gateway = await startConfigured({ ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }, loans)
    expect((await call('GET', '/web/v1/consumer/loans', { token: owner, workspace })).body.data).not.toEqual([])
  })
})

describe('handlers that fail', () => {
  let folder: string
  let store: TestStore
  let gateway: PorticoProcess

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-failing-'))
    const file = join(folder, 'index.js')
    await writeFile(
      file,
      `import { domain, Refusal } from 'portico'
      import { anonymous, money, operation, z } from 'portico/contract'
      const get = (name) => operation({ id: 'faults.' + name, method: 'GET', path: '/faults/' + name, chains: ['consumer'],
        summary: 'Fail', policy: anonymous, body: 'none', reply: z.object({ ok: z.boolean() }), refuses: [] })
      export default domain({ name: 'faults', summary: 'Faults.',
        operations: { throws: get('throws'), lies: get('lies'), works: get('works'), invents: get('invents'),
          hangs: get('hangs'), sleeps: get('sleeps'),
          repeats: operation({ ...get('repeats'), method: 'POST',
            policy: { ...money, workspace: 'optional', permission: null } }) },
        create: () => ({ handlers: {
          throws: async () => { throw new Error('secret detail') },
          hangs: () => new Promise(() => undefined),
          sleeps: async () => { await new Promise((resolve) => setTimeout(resolve, 1500)); throw new Error('overslept') },
          lies: async () => ({ ok: 'maybe' }),
          invents: async () => { throw new Refusal('FAULTS.UNDECLARED') },
          repeats: async () => ({ ok: true }),
          works: async () => ({ ok: true, hidden: 'undeclared' }),
        } }) })`,
    )
    store = await createStore()
    gateway = await startConfigured(
      { ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' },
      { extensions: [file], requests: { handlerTimeoutMs: 500 } },
    )
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
    await rm(folder, { recursive: true, force: true })
  })

  test.each(['throws', 'lies', 'invents'])(
    '500 SYSTEM.INTERNAL_ERROR: a handler that %s affects its own request only',
    async (name) => {
      const failed = await send(gateway.url, 'GET', `/web/v1/consumer/faults/${name}`)
      expect([failed.status, failed.body.code]).toEqual([500, 'SYSTEM.INTERNAL_ERROR'])
      expect(failed.text).not.toMatch(/secret detail|FAULTS/)
      const fine = await send(gateway.url, 'GET', '/web/v1/consumer/faults/works')
      expect(fine.body.data).toEqual({ ok: true })
    },
  )

  test('504 SYSTEM.UPSTREAM_TIMEOUT: a handler that hangs affects its own request only', async () => {
    const hanging = ['hangs', 'hangs', 'sleeps'].map((name) =>
      send(gateway.url, 'GET', `/web/v1/consumer/faults/${name}`),
    )
    const fine = await send(gateway.url, 'GET', '/web/v1/consumer/faults/works')
    expect(fine.body.data).toEqual({ ok: true })
    for (const { status, body } of await Promise.all(hanging))
      expect([status, body.code]).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
    const metrics = async (): Promise<string> => (await fetch(`${gateway.operationsUrl}/metrics`)).text()
    expect(await metrics()).toContain('portico_handler_timeouts_total{operation="faults.hangs"} 2')
    await expect.poll(() => gateway.output()).toContain('the handler of faults.hangs did not return within 500 ms')
    await expect.poll(() => gateway.output()).toContain('a handler returned after its deadline')
    await expect.poll(() => gateway.output()).toContain('overslept')
    expect(await metrics()).toContain('portico_handlers_overdue 2')
  })

  test('500 SYSTEM.INTERNAL_ERROR: an idempotent operation whose handler does not call once', async () => {
    const call: Portico['call'] = (method, path, options) => send(gateway.url, method, path, options)
    const mailTo = outboxOf(gateway)
    const { accessToken } = await signIn({ call, mailTo })
    const failed = await call('POST', '/web/v1/consumer/faults/repeats', { token: accessToken })
    expect([failed.status, failed.body.code]).toEqual([500, 'SYSTEM.INTERNAL_ERROR'])
    await expect.poll(() => gateway.output()).toContain('faults.repeats did not call once')
  })
})
