import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../harness/cli.ts'
import { root } from '../harness/settings.ts'

const loans = pathToFileURL(join(root, 'examples/loans/index.ts')).href

/** The lines of a ConfigurationError, without the places of the declarations. */
function errorsIn(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('  - '))
    .map((line) => line.slice(4).replace(/ \(\S+:\d+:\d+\)$/, ''))
    .toSorted()
}

describe('config check reports the errors of every check in one run', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-errors-'))
    await mkdir(join(folder, 'locales'))
    const texts = { refusal: { 'CARD.LOST': 'the card is lost' }, notice: { decision: { APPROVED: 'yes' } } }
    await writeFile(join(folder, 'locales', 'en.yaml'), dump(texts))
    await mkdir(join(folder, 'gone'))
    await writeFile(join(folder, 'gone', 'en.yaml'), dump({ refusal: { 'CARD.GONE': 'the card is gone' } }))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const module = async (text: string): Promise<string> => {
    const file = join(folder, `${crypto.randomUUID()}.js`)
    await writeFile(file, text)
    return file
  }

  /** `change` is a statement that changes the definition `d` and the operation `o`. */
  const extension = (change: string, name = 'cards'): Promise<string> =>
    module(`import { domain } from 'portico'
      import { member, operation, z } from 'portico/contract'
      const o = operation({ id: '${name}.read', method: 'GET', path: '/${name}', chains: ['consumer'],
        summary: 'Read ${name}', policy: { ...member, workspace: 'required', permission: null }, body: 'none',
        reply: z.boolean(), refuses: [] })
      const d = { name: '${name}', summary: 'Cards.', operations: { ${name}Read: o },
        create: () => ({ handlers: { ${name}Read: async () => true } }) }
      const gone = new URL('./gone/', import.meta.url)
      ${change}
      export default domain(d)`)

  const check = async (configuration: object): Promise<string[]> => {
    const { code, out, err } = await runCli(['config', 'check'], configuration)
    expect([code, out]).toEqual([2, ''])
    return errorsIn(err)
  }

  const everyLayer = `
    delete o.policy.rate
    o.policy.permission = 'card:read'
    o.path = '/wallets'
    o.reply = z.date()
    d.codes = { 'CARD.LOST': { status: 422 }, 'CARD.STOLEN': { status: 422 } }
    d.locales = new URL('./locales/', import.meta.url)
    d.mails = { directory: new URL('./mails/', import.meta.url), templates: { blocked: ['card'] } }
    d.settings = z.strictObject({ max: z.int() })
    d.uses = ['nothing']
    d.create = () => ({ handlers: {} })`

  const errorsOfEveryLayer = (file: string, name = 'cards') => {
    const source = `extensions: ${file}: `
    return [
      `domains.${name}.max: Invalid input: expected number, received string`,
      `${source}create: ${name}Read has no handler; add it to \`handlers\``,
      expect.stringContaining(`${source}invalid mail texts:`),
      `${source}locales: ${folder}/locales/en.yaml declares the text notice.decision.APPROVED, which exists already; remove it`,
      `${source}locales: ${folder}/locales/en.yaml has no text refusal.CARD.STOLEN; add it`,
      `${source}operations.${name}Read.path: route GET /web/v1/consumer/wallets is declared by wallets and by ${name}; choose another one`,
      `${source}operations.${name}Read.policy.permission: ${name}.read of ${name} requires card:read, which no owner declares in permissions.workspace; add it there`,
      `${source}operations.${name}Read.policy.rate: is missing; set it to a value of type string`,
      `${source}operations.${name}Read.reply: Date cannot be represented in JSON Schema; use a type that JSON has`,
      `${source}uses: no domain has the name nothing; add its module to extensions, or remove it`,
    ]
  }

  test('one extension with an error in each check: each once, exit code 2', async () => {
    const file = await extension(everyLayer)
    const errors = await check({ extensions: [file], domains: { cards: { max: 'high' } } })
    expect(errors).toEqual(errorsOfEveryLayer(file))
  })

  test('extensions whose errors are in different checks, and one that cannot be imported: exit code 2', async () => {
    const broken = await extension("delete o.policy.rate; o.path = '/shared'")
    const noHandler = await extension('d.create = () => ({ handlers: {} })', 'bills')
    const taken = await extension("o.path = '/shared'", 'notes')
    const throwing = await module("throw new Error('out of cards')")
    const extensions = [throwing, broken, noHandler, taken]
    // An extension that cannot be imported may declare what these settings name.
    const rest = { backends: { coins: { url: 'http://127.0.0.1:9' } }, domains: { coins: { max: 1 } } }
    const errors = await check({ extensions, ...rest })
    expect(errors).toHaveLength(4)
    for (const error of [
      `extensions: ${throwing}: out of cards`,
      `extensions: ${broken}: operations.cardsRead.policy.rate: is missing; set it to a value of type string`,
      `extensions: ${noHandler}: create: billsRead has no handler; add it to \`handlers\``,
      `extensions: ${taken}: operations.notesRead.path: route GET /web/v1/consumer/shared is declared by cards and by notes; choose another one`,
    ])
      expect(errors).toContain(error)
  })

  test('an invalid field causes no errors of other fields, and hides no other extension: exit code 2', async () => {
    const changes: [change: string, error: RegExp][] = [
      ['d.name = 7', /^name: /],
      ['d.name = 8', /^name: /],
      ['d.operations = 7', /^operations: /],
      ['d.operations = { readAll: 7 }; d.create = () => ({ handlers: { readAll() {} } })', /^operations\.readAll: /],
      ['o.policy = null', /^operations\.\w+\.policy: /],
      ["o.chains = ['admin']", /^operations\.\w+\.chains\.0: /],
      ["o.method = 'TRACE'; o.path = '/wallets'", /^operations\.\w+\.method: /],
      ["o.refuses = ['lost', 'STATE.CONFLICT']", /^operations\.\w+\.refuses\.0: /],
      ["d.codes = { 'CARD.GONE': 7 }; o.refuses = ['CARD.GONE']; d.locales = gone", /^codes\.CARD\.GONE: /],
      ["d.rateGroups = { cards: {} }; o.policy.rate = 'cards'", /^rateGroups\.cards: /],
      [
        "d.ledger = { orders: { LOAN: { prefix: 'L', open: [], final: ['DONE'] } } }",
        /^ledger\.orders\.LOAN\.prefix: /,
      ],
      ["d.permissions = { workspace: { card: 'read' } }; o.policy.permission = 'card:read'", /^permissions\./],
      ["o.policy.workspace = 'some'; o.policy.permission = 'card:read'", /^operations\.\w+\.policy\.workspace: /],
      ["d.locales = new URL('https://127.0.0.1/')", /^locales: /],
      ['d.mails = { directory: 7, templates: 7 }', /^mails\./],
      ['d.migrations = [{}]', /^migrations\.0\./],
      ['d.create = 7', /^create: /],
      ['d.contract = 7', /^contract: /],
      ['d.keyedColumns = 7', /^keyedColumns: /],
      ['d.uses = 7', /^uses: /],
      ['d.settings = 7', /^settings: /],
    ]
    const broken = await Promise.all(changes.map(([change], index) => extension(change, `cards${index}`)))
    const last = await extension('d.create = () => ({ handlers: {} })', 'bills')
    const errors = await check({ extensions: [...broken, last] })
    const errorsOf = (file: string) =>
      errors.filter((line) => line.startsWith(`extensions: ${file}: `)).map((line) => line.slice(file.length + 14))
    for (const [index, [change, error]] of changes.entries()) {
      const own = errorsOf(broken[index] ?? '')
      expect(own.length, change).toBeGreaterThan(0)
      for (const line of own) expect(line, change).toMatch(error)
    }
    expect(errorsOf(last)).toEqual(['create: billsRead has no handler; add it to `handlers`'])
    expect(errors).toHaveLength([...broken, last].flatMap(errorsOf).length)
  })

  test('an operation without a handler, although create provides funds: exit code 2', async () => {
    const file = await extension(`d.ledger = { houseAccounts: ['CARDS'] }
      d.needs = ['ledger']
      d.create = async ({ ledger }) => {
        await ledger.provideFunds('CARDS', [{ minor: 100n, currency: 'USD' }])
        return { handlers: {} }
      }`)
    expect(await check({ extensions: [file] })).toEqual([
      `extensions: ${file}: create: cardsRead has no handler; add it to \`handlers\``,
    ])
  })

  test('the example loans without one of its handlers: exit code 2', async () => {
    const file = await module(`import loans from '${loans}'
      export default { ...loans, create: async (ports) => {
        const { handlers: { repayLoan, ...handlers }, ...parts } = await loans.create(ports)
        return { ...parts, handlers }
      } }`)
    const settings = { maxAmount: '5000.00', capital: { USD: '1000000.00' } }
    expect(await check({ extensions: [file], domains: { loans: settings } })).toEqual([
      `extensions: ${file}: create: repayLoan has no handler; add it to \`handlers\``,
    ])
    const complete = await runCli(['config', 'check'], { extensions: [loans.slice(7)], domains: { loans: settings } })
    const needs = 'accounts, clock, database, ids, ledger, mailer, once, signInUrl, words'
    expect([complete.code, complete.err]).toEqual([0, `portico: extensions: ${loans.slice(7)}: loans needs ${needs}\n`])
  })
})
