import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli } from '../harness/cli.ts'
import { startConfigured } from '../harness/configured.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import type { DevelopmentMail, Portico } from '../harness/portico.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { signIn } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

const workspace = developmentIds.workspace
const password = 'a-long-enough-passphrase-7'
/** Operators who may approve loans. The second one is also the owner of the workspace. */
const approver = 'operator.of.loans@example.test'
const sameAsOwner = 'owner@demo.test'
const loans = { extensions: ['examples/loans/index.ts'], domains: { loans: { maxAmount: '5000.00' } } }

const newestMail = async ({ operationsUrl }: PorticoProcess, address: string): Promise<DevelopmentMail> => {
  const mails: DevelopmentMail[] = await (await fetch(`${operationsUrl}/mail.json`)).json()
  const found = mails.find(({ to }) => to === address)
  if (!found) throw new Error(`no mail to ${address}`)
  return found
}

// Extensions do not depend on the topology. In other topologies, `serve` is not allowed to create tables.
describe.skipIf(inject('topology') !== 'embedded')('an extension', () => {
  let store: TestStore
  let gateway: PorticoProcess
  let owner: string
  let member: string
  let operator: string
  let ownerAsOperator: string
  const call = (method: string, path: string, options?: Call): Promise<Answer> =>
    send(gateway.url, method, path, options)
  const mailTo = (address: string): Promise<DevelopmentMail> => newestMail(gateway, address)
  const apply = (options: Call = {}) =>
    call('POST', '/web/v1/consumer/loans', {
      token: owner,
      workspace,
      body: { amount: '100.00', currency: 'USD' },
      ...options,
    })

  beforeAll(async () => {
    store = await createStore()
    // The operators of the seeded store have Portico's own permissions only.
    for (const email of [approver, sameAsOwner]) {
      const create = ['operator', 'create', '--email', email, '--name', 'Approver']
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
    await expect.poll(async () => (await mailTo('owner@demo.test')).text).toContain('A loan of 12.34 USD was paid out')
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
    expect(document.components.schemas.LoanStatus.properties.code.enum).toEqual(['REQUESTED', 'PAID_OUT', 'EXPIRED'])
    expect(JSON.stringify(document.components.responses)).toContain('LOAN.NOT_ELIGIBLE')
    const tree = await call('GET', '/web/v1/consumer/roles/permissions/tree', { token: owner, workspace })
    expect(tree.text).toContain('"loan:create"')
    const { out } = await runCli(['openapi'], loans)
    expect(JSON.parse(out).paths).toEqual(document.paths)
  })

  test('a restart finds the migration applied', async () => {
    await gateway.stop()
    gateway = await startConfigured({ ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }, loans)
    expect((await call('GET', '/web/v1/consumer/loans', { token: owner, workspace })).body.data).not.toEqual([])
  })
})

describe.skipIf(inject('topology') !== 'embedded')('a broken extension', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-broken-'))
    await mkdir(join(folder, 'locales'))
    await writeFile(join(folder, 'locales', 'en.yaml'), 'refusal:\n  CARD.BLOCKED: the card is blocked\n')
    await mkdir(join(folder, 'taken'))
    const taken = { permission: { 'wallet:read': { name: 'Read', description: 'Read' } } }
    await writeFile(join(folder, 'taken', 'en.yaml'), dump(taken))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /**
   * Writes an extension with one operation. `change` is a statement that changes the definition `d` and the operation
   * `o`.
   */
  const extension = async (change: string, handlers = '{ readCard: async () => true }'): Promise<string> => {
    const file = join(folder, `${crypto.randomUUID()}.js`)
    await writeFile(
      file,
      `import { domain } from 'portico'
      import { member, operation, z } from 'portico/contract'
      const o = { id: 'cards.read', method: 'GET', path: '/cards', chains: ['consumer'], summary: 'Read a card',
        policy: { ...member, workspace: 'required', permission: null }, body: 'none', reply: z.boolean(), refuses: [] }
      const d = { name: 'cards', summary: 'Cards.', operations: { readCard: o },
        create: () => ({ handlers: ${handlers} }) }
      ${change}
      export default domain(d)`,
    )
    return file
  }

  test.each([
    ['a missing policy field', 'delete o.policy.rate', 'operations.readCard.policy.rate: '],
    ['an unknown rate group', "o.policy.rate = 'cards'", 'operations.readCard.policy.rate: '],
    ['a wrong id', "o.id = 'loans.read'", 'operations.readCard.id: must be cards. and a name'],
    ['an unknown permission', "o.policy.permission = 'card:read'", 'cards.read of cards requires card:read'],
    ['an unknown code', "o.refuses = ['CARD.LOST']", 'cards.read of cards refuses with CARD.LOST'],
    ['a code without locales', "d.codes = { 'CARD.LOST': { status: 422 } }", 'locales: is missing'],
    [
      'a code without text',
      "d.codes = { 'CARD.LOST': { status: 422 } }; d.locales = new URL('./locales/', import.meta.url)",
      'en.yaml has no text refusal.CARD.LOST',
    ],
    [
      'a route of Portico',
      "o.path = '/wallets'",
      'route GET /web/v1/consumer/wallets is declared by wallets and by cards',
    ],
    ['a name of Portico', "d.name = 'wallets'; o.id = 'wallets.card'", 'the name wallets is used twice'],
    [
      'a permission of Portico',
      "d.permissions = { workspace: { wallet: ['read'] } }; d.locales = new URL('./taken/', import.meta.url)",
      'workspace permission wallet:read is declared by wallets and by cards',
    ],
    [
      'a text of Portico',
      "d.locales = new URL('./taken/', import.meta.url)",
      'declares the text permission.wallet:read.name, which exists already',
    ],
    ['the name of the kernel', "d.name = 'kernel'; o.id = 'kernel.card'", 'the name kernel is used twice'],
    ['the name of the pipeline', "d.name = 'pipeline'; o.id = 'pipeline.card'", 'the name pipeline is used twice'],
    [
      'a route of Portico on another chain',
      "o.chains = ['shared']; o.path = '/consumer/wallets'",
      'route GET /web/v1/consumer/wallets is declared by wallets and by cards',
    ],
    ['an operation called codes', 'd.operations = { codes: o }', 'operations.codes: '],
    [
      'an export name of Portico',
      'd.operations = { createTransfer: o }',
      'export name createTransfer is declared by transfers and by cards',
    ],
    [
      'an unknown code for a malformed path',
      "o.malformedParam = 'CARD.LOST'",
      'cards.read of cards refuses with CARD.LOST',
    ],
    ['an anonymous caller in a workspace', "o.policy.caller = 'anonymous'", 'operations.readCard.policy.workspace: '],
    [
      'a body that accepts unknown fields',
      "o.method = 'POST'; o.body = z.object({ card: z.string() })",
      'operations.readCard.body: must be a z.strictObject',
    ],
    ['a reply that JSON cannot express', 'o.reply = z.date()', 'operations.readCard.reply: '],
    [
      'a migration without a number',
      "d.migrations = [{ name: 'cards', up: async () => undefined }]",
      'migrations: migration cards/cards is not named like 001-baseline',
    ],
    ['no reply schema', 'o.reply = {}', 'operations.readCard.reply: must be a zod schema'],
    ['a module that throws', "throw new Error('out of cards')", 'out of cards'],
  ])('config check names the file and the cause of %s: exit code 2', async (_name, change, message) => {
    const file = await extension(change)
    const { code, out, err } = await runCli(['config', 'check'], { extensions: [file] })
    expect(err).toContain(message)
    expect(err).toContain(`extensions: ${file}: `)
    expect([code, out]).toEqual([2, ''])
  })

  test('config check reports a missing file, and settings of no extension: exit code 2', async () => {
    const missing = await runCli(['config', 'check'], { extensions: ['no-such.js'] })
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('extensions: no-such.js: ')])
    const settings = await runCli(['config', 'check'], { domains: { cards: {} } })
    expect([settings.code, settings.err]).toEqual([
      2,
      expect.stringContaining('domains.cards: no domain with settings'),
    ])
    const invalid = await runCli(['config', 'check'], { ...loans, domains: { loans: { maxAmount: 5 } } })
    expect([invalid.code, invalid.err]).toEqual([2, expect.stringContaining('domains.loans.maxAmount: ')])
  })

  test('config check masks the texts in the settings of extensions', async () => {
    const { code, out } = await runCli(['config', 'check'], { ...loans, domains: { loans: { maxAmount: '4321.09' } } })
    expect([code, out]).toEqual([0, expect.stringMatching(/^domains:\n {2}loans:\n {4}maxAmount: '\[secret\]'$/m)])
    expect(out).not.toContain('4321.09')
  })

  test('serve refuses an operation without a handler and starts nothing: exit code 2', async () => {
    const file = await extension('', '{}')
    const { code, err } = await runCli(['serve'], { extensions: [file] })
    expect([code, err]).toEqual([2, expect.stringContaining(`extensions: ${file}: readCard has no handler`)])
  })
})

describe.skipIf(inject('topology') !== 'embedded')('handlers that fail', () => {
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
          repeats: operation({ ...get('repeats'), method: 'POST',
            policy: { ...money, workspace: 'optional', permission: null } }) },
        create: () => ({ handlers: {
          throws: async () => { throw new Error('secret detail') },
          lies: async () => ({ ok: 'maybe' }),
          invents: async () => { throw new Refusal('FAULTS.UNDECLARED') },
          repeats: async () => ({ ok: true }),
          works: async () => ({ ok: true, hidden: 'undeclared' }),
        } }) })`,
    )
    store = await createStore()
    gateway = await startConfigured({ ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' }, { extensions: [file] })
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

  test('500 SYSTEM.INTERNAL_ERROR: an idempotent operation whose handler does not call once', async () => {
    const call: Portico['call'] = (method, path, options) => send(gateway.url, method, path, options)
    const mailTo = (address: string): Promise<DevelopmentMail> => newestMail(gateway, address)
    const { accessToken } = await signIn({ call, mailTo })
    const failed = await call('POST', '/web/v1/consumer/faults/repeats', { token: accessToken })
    expect([failed.status, failed.body.code]).toEqual([500, 'SYSTEM.INTERNAL_ERROR'])
    await expect.poll(() => gateway.output()).toContain('faults.repeats did not call once')
  })
})
