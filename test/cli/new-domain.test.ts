import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { portalTables, singularOf } from '../../src/cli/new-domain/names.ts'
import { runProgram } from '../harness/cli.ts'
import { everyStore } from '../ledger/stores.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'portico-new-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function newDomain(...args: string[]) {
  return runProgram(['new', 'domain', ...args], {}, { cwd: folder })
}
function checked(name: string, file: string) {
  return runProgram(['config', 'check'], { extensions: [`./${name}/${file}`] }, { cwd: folder })
}

function filesOf(name: string): string[] {
  return readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.includes('.'))
    .sort()
}

test('new domain writes a domain in TypeScript, and lists its files and the next commands: exit code 0', async () => {
  const { code, out, err } = await newDomain('loans')
  expect([code, err]).toEqual([0, ''])
  const files = filesOf('loans')
  expect(files).toEqual(
    ['contract.ts', 'index.ts', 'loans.test.ts', 'locales/en.yaml', 'package.json', 'portico.yaml', 'store.ts'].concat(
      'tsconfig.json',
    ),
  )
  for (const file of files) expect(out).toContain(`wrote loans/${file}\n`)
  expect(out).toContain('npx vitest run loans\n')
  const texts = files.map((file) => readFileSync(join(folder, 'loans', file), 'utf8')).join('\n')
  expect(texts).not.toMatch(/card.?order/i)
  expect(texts).toContain("summary: 'Create a loan'")
  expect((await checked('loans', 'index.ts')).err).toBe(
    'portico: extensions: ./loans/index.ts: loans needs clock, database, ids, once\n',
  )
})

test('new domain --javascript --item: several words, an irregular plural and a vowel', async () => {
  const { code, err } = await newDomain('old-mice', '--item', 'old-mouse', '--javascript')
  expect([code, err]).toEqual([0, ''])
  const contract = await readFile(join(folder, 'old-mice/contract.js'), 'utf8')
  for (const text of ["'oldMice.create'", "'/old-mice/{old_mouse_id}'", 'createOldMouse', "'Create an old mouse'"])
    expect(contract).toContain(text)
  expect(filesOf('old-mice').filter((file) => file.endsWith('.ts'))).toEqual([])
  expect((await checked('old-mice', 'index.js')).err).toBe(
    'portico: extensions: ./old-mice/index.js: oldMice needs clock, database, ids, once\n',
  )
})

test.each([
  ['without a name', [], 'the name must be lower-case words'],
  ['with a capital letter', ['Loans'], 'the name must be lower-case words'],
  ['with a path', ['../loans'], 'the name must be lower-case words'],
  ['with 33 letters', ['l'.repeat(33)], 'the name must be lower-case words'],
  ['with an invalid item', ['bonds', '--item', 'a bond'], '--item must be lower-case words'],
  ['with two names', ['bonds', 'shares'], "unexpected argument 'shares'"],
  ['of Portico', ['wallets'], 'the name wallets is used twice'],
  ['of a table of Portico', ['jobs'], 'the store has a table jobs already'],
  [
    'with a permission group of Portico',
    ['purses', '--item', 'wallet'],
    'permission wallet:read is declared by wallets',
  ],
])('new domain %s is refused and writes nothing: exit code 2', async (_, args, message) => {
  const { code, out, err } = await newDomain(...args)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(message)
  expect(existsSync(join(folder, args[0] || 'undefined'))).toBe(false)
})

test('new domain does not change an existing folder: exit code 2', async () => {
  await mkdir(join(folder, 'shares'))
  const { code, err } = await newDomain('shares')
  expect([code, err]).toEqual([2, 'portico: shares exists already; nothing was changed\n'])
  expect(filesOf('shares')).toEqual([])
})

test.each([
  ['loans', 'loan'],
  ['policies', 'policy'],
  ['passes', 'passe'],
  ['glass', 'glass'],
  ['sheep', 'sheep'],
])('one of %s is a %s', (name, item) => {
  expect(singularOf(name)).toBe(item)
})

test('new domain knows every table of Portico: edit `portalTables` in src/cli/new-domain/names.ts', async () => {
  const stores = await everyStore()
  const [store] = stores
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace`.execute(
    store?.database ?? expect.fail('no store'),
  )
  await Promise.all(stores.map((each) => each.close()))
  expect(rows.map(({ name }) => name).sort()).toEqual([...portalTables])
})

/** The line of the first occurrence, counted from 1. */
function lineOf(text: string, part: string): number {
  return text.slice(0, text.indexOf(part)).split('\n').length
}

describe.each([
  ['TypeScript', 'ts', []],
  ['JavaScript', 'js', ['--javascript']],
])('an incomplete domain in %s is refused at start with file and line', (_, extension, options) => {
  const name = `bonds-${extension}`
  const path = (file: string) => join(folder, name, file)

  beforeAll(async () => {
    expect((await newDomain(name, ...options, '--item', `bond-${extension}`)).code).toBe(0)
  })

  test.each([
    [
      'text',
      'locales/en.yaml',
      /^ {2}bond-..:create: .*\n/m,
      'index',
      'export default domain(',
      'has no text permission',
    ],
    [
      'permission',
      'index',
      ", 'create'",
      'contract',
      'operation({',
      'create, which no owner declares in permissions.workspace',
    ],
    ['handler', 'index', /^ +list\w+: .*\n/m, 'index', 'export default domain(', 'has no handler'],
  ])('a missing %s', async (kind, file, removed, place, call, message) => {
    const changed = path(file.includes('.') ? file : `${file}.${extension}`)
    const complete = await readFile(changed, 'utf8')
    const texts = path('locales/en.yaml')
    const completeTexts = await readFile(texts, 'utf8')
    await writeFile(changed, complete.replace(removed, ''))
    // Otherwise, the text would belong to no permission.
    if (kind === 'permission') await writeFile(texts, completeTexts.replace(/^ {2}bond-..:create: .*\n/m, ''))
    const declared = path(`${place}.${extension}`)
    const line = lineOf(await readFile(declared, 'utf8'), call)
    const { code, err } = await checked(name, `index.${extension}`)
    await writeFile(changed, complete)
    await writeFile(texts, completeTexts)
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
    expect(err).toContain(`(${declared}:${line}:`)
  })
})
