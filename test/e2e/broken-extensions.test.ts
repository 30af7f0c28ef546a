import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli, runProgram } from '../harness/cli.ts'
import { mistakes } from './extension-mistakes.ts'

const loans = { extensions: ['./examples/loans/index.ts'], domains: { loans: { maxAmount: '5000.00' } } }

describe('a broken extension', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-broken-'))
    await mkdir(join(folder, 'locales'))
    await writeFile(join(folder, 'locales', 'en.yaml'), 'refusal:\n  CARD.BLOCKED: the card is blocked\n')
    await mkdir(join(folder, 'taken'))
    const taken = { permission: { 'wallet:read': { name: 'Read', description: 'Read' } } }
    await writeFile(join(folder, 'taken', 'en.yaml'), dump(taken))
    await mkdir(join(folder, 'replaced'))
    await writeFile(join(folder, 'replaced', 'en.yaml'), dump({ notice: { decision: { APPROVED: 'yes' } } }))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  /** `change` is a statement that changes the definition `d` and the operation `o`. */
  const extension = async (
    change: string,
    handlers = '{ readCard: async () => true }',
    file = join(folder, `${crypto.randomUUID()}.js`),
  ): Promise<string> => {
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

  test.each(mistakes)(
    'config check names the file and the cause of %s: exit code 2',
    async (_name, change, message) => {
      const file = await extension(change)
      const { code, out, err } = await runCli(['config', 'check'], { extensions: [file] })
      expect(err).toContain(message)
      expect(err).toContain(`extensions: ${file}: `)
      expect([code, out]).toEqual([2, ''])
    },
  )

  test('config check names the file and the line of a syntax error, also in an imported file: exit code 2', async () => {
    const broken = join(folder, 'broken.js')
    await writeFile(broken, 'export const one = 1\nexport const two = {\n  a: 1\n  b: 2\n}\n')
    const importing = await extension("import './broken.js'")
    const typed = join(folder, 'typed.ts')
    await writeFile(typed, 'export const one: number = 1\nexport default { a: 1 b: 2 }\n')
    const { code, err } = await runProgram(['config', 'check'], { extensions: [broken, importing, typed] })
    expect(code).toBe(2)
    expect(err).toContain(`extensions: ${broken}: Unexpected identifier 'b' (${broken}:4)`)
    expect(err).toContain(`extensions: ${importing}: Unexpected identifier 'b' (${broken}:4)`)
    expect(err).toMatch(new RegExp(`extensions: ${typed}: .* \\(${typed}:2\\)`))
  })

  test('config check names the line of invalid YAML, and refuses unknown languages: exit code 2', async () => {
    await mkdir(join(folder, 'invalid'))
    await writeFile(join(folder, 'invalid', 'en.yaml'), 'notice:\n  a: one\n  a: two\n')
    await writeFile(join(folder, 'invalid', 'jp.yaml'), 'notice:\n  a: one\n')
    await mkdir(join(folder, 'mails', 'blocked'), { recursive: true })
    await writeFile(join(folder, 'mails', 'blocked', 'en.yaml'), 'subject: Blocked\ntext: "a\nhtml: b\n')
    await writeFile(join(folder, 'mails', 'blocked', 'zh-TW.yml'), '')
    const file = await extension(`d.locales = new URL('./invalid/', import.meta.url)
      d.mails = { directory: new URL('./mails/', import.meta.url), templates: { blocked: [] } }`)
    const document = join(folder, 'document.yaml')
    await writeFile(document, 'openapi: 3.1.0\npaths: {\n')
    const { code, err } = await runCli(['config', 'check'], { extensions: [file], operations: [document] })
    expect(code).toBe(2)
    expect(err).toMatch(/invalid\/en\.yaml cannot be read: .* \(3:3\)/)
    expect(err).toContain(
      `extensions: ${file}: locales: ${join(folder, 'invalid', 'jp.yaml')} is not read: name it en.yaml`,
    )
    expect(err).toContain(
      `extensions: ${file}: mails: ${join(folder, 'mails', 'blocked', 'zh-TW.yml')} is not read: name it`,
    )
    expect(err).toMatch(/mails\/blocked\/en\.yaml: .* \(3:1\)/)
    expect(err).toMatch(/operations: \S+document\.yaml: .* \(3:1\)/)
    expect(err).not.toContain(' | ')
  })

  test('config check reports a missing file, and settings of no extension: exit code 2', async () => {
    const missing = await runCli(['config', 'check'], { extensions: ['./no-such.js'] })
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('extensions: ./no-such.js: ')])
    const settings = await runCli(['config', 'check'], { domains: { cards: {} } })
    expect([settings.code, settings.err]).toEqual([
      2,
      expect.stringContaining(
        'domains.cards: no domain with settings has this name; remove it, or add its module to extensions',
      ),
    ])
    const invalid = await runCli(['config', 'check'], { ...loans, domains: { loans: { maxAmount: 5 } } })
    expect([invalid.code, invalid.err]).toEqual([2, expect.stringContaining('domains.loans.maxAmount: ')])
  })

  test('config check reports every error of every extension: exit code 2', async () => {
    const one = await extension("o.policy.permission = 'card:read'; o.refuses = ['CARD.LOST']; o.policy.rate = 'cards'")
    const other = await extension("d.name = 'bills'; o.id = 'bills.read'; o.path = '/wallets'")
    const { code, err } = await runCli(['config', 'check'], { extensions: [one, other] })
    expect(code).toBe(2)
    for (const line of [
      `extensions: ${one}: operations.readCard.policy.permission: cards.read of cards requires card:read`,
      `extensions: ${one}: operations.readCard.refuses: cards.read of cards refuses with CARD.LOST, which no owner declares in codes; add it there`,
      `extensions: ${one}: operations.readCard.policy.rate: cards.read of cards counts towards the rate group cards`,
      `extensions: ${other}: operations.readCard.path: route GET /web/v1/consumer/wallets is declared by wallets and by bills; choose another one`,
    ])
      expect(err).toContain(line)
  })

  test('config check names a limit of a rate group that no domain declares: exit code 2', async () => {
    const rule = { account: { limit: 1, windowMs: 1_000 } }
    const unknown = {
      limits: { groups: { cards: rule } },
      portals: { CONSUMER: { limits: { groups: { genral: rule } }, channelMandatory: ['mony'] } },
    }
    const { code, err } = await runCli(['config', 'check'], unknown)
    expect(code).toBe(2)
    expect(err).toContain('limits.groups: no rate limit group has the name cards; correct it or remove it')
    expect(err).toContain(
      'portals.CONSUMER.limits.groups: no rate limit group has the name genral; correct it or remove it',
    )
    expect(err).toContain(
      'portals.CONSUMER.channelMandatory: no rate limit group has the name mony; correct it or remove it',
    )
  })

  test('config check reads a bare name as a package, and names the path that was meant: exit code 2', async () => {
    const missing = await runCli(['config', 'check'], { extensions: ['@acme/no-such-package'] })
    expect(missing.code).toBe(2)
    expect(missing.err).toMatch(/extensions: @acme\/no-such-package: .*@acme\/no-such-package/)
    const path = await runCli(['config', 'check'], { extensions: ['examples/loans/index.ts'] })
    expect(path.code).toBe(2)
    expect(path.err).toContain('no package has this name; write ./examples/loans/index.ts for the file')
  })

  test.each([
    ['^0.1.0', null],
    ['>=0.2.0', 'requires portico >=0.2.0, but this is portico 0.1.0; install a version of the extension for it'],
    ['latest', "'latest' is not a version range; write one such as ^0.1.0"],
  ])('config check loads a package for portico %s from the working directory', async (range, error) => {
    const cwd = await mkdtemp(join(folder, 'project-'))
    const home = join(cwd, 'node_modules', '@acme', 'cards')
    await mkdir(home, { recursive: true })
    const manifest = {
      name: '@acme/cards',
      type: 'module',
      exports: { import: './main.js' },
      peerDependencies: { portico: range },
    }
    await writeFile(join(home, 'package.json'), JSON.stringify(manifest))
    await extension('', undefined, join(home, 'main.js'))
    const { code, out, err } = await runProgram(['config', 'check'], { extensions: ['@acme/cards'] }, { cwd })
    const needs = 'portico: extensions: @acme/cards: cards needs no ports\n'
    if (error === null) expect([code, out, err]).toEqual([0, expect.stringContaining("- '@acme/cards'"), needs])
    else {
      expect([code, out]).toEqual([2, ''])
      expect(err).toContain(
        `extensions: @acme/cards: ${join(home, 'package.json')}: peerDependencies.portico: ${error}`,
      )
    }
  })

  test('config check skips the handlers of a domain whose create function needs a store, and says so', async () => {
    const file = await extension(
      'd.needs = ["database"]; d.create = async ({ database }) => { await database.selectFrom("audit_log").execute(); return { handlers: {} } }',
    )
    const { code, err } = await runCli(['config', 'check'], { extensions: [file] })
    expect(code).toBe(0)
    expect(err).toContain(`extensions: ${file}: create calls database.selectFrom; its handlers are checked at start`)
  })

  test('config check masks the texts in the settings of extensions', async () => {
    const { code, out } = await runCli(['config', 'check'], { ...loans, domains: { loans: { maxAmount: '4321.09' } } })
    expect([code, out]).toEqual([0, expect.stringMatching(/^domains:\n {2}loans:\n {4}maxAmount: '\[secret\]'$/m)])
    expect(out).not.toContain('4321.09')
  })

  test('serve refuses an operation without a handler and starts nothing: exit code 2', async () => {
    const file = await extension('', '{}')
    const { code, err } = await runCli(['serve'], { extensions: [file] })
    expect([code, err]).toEqual([2, expect.stringContaining(`extensions: ${file}: create: readCard has no handler`)])
  })
})
