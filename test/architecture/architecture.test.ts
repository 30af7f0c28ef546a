import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { bankingDomains } from '../../src/banking/index.ts'
import { readSources, type Source, tooLong, violations } from './check.ts'
import { privateImports } from './public-imports.ts'
import { importRules, textRules } from './rules.ts'

function sourcesOf(folder: string): Source[] {
  return readSources(fileURLToPath(new URL(`../../${folder}`, import.meta.url)))
}

test('the house keeps its rules', () => {
  const sources = sourcesOf('src')
  expect(sources.length).toBeGreaterThan(50)
  expect(violations(sources)).toEqual([])
})

test.each(['test', 'scripts'])('no file below %s is above 400 lines', (folder) => {
  const sources = sourcesOf(folder)
  expect(sources.length).toBeGreaterThan(5)
  expect(tooLong(sources)).toEqual([])
})

test.each(['src', 'test', 'scripts'])(
  'no file below %s takes the path of a URL for that of a file, in which a space is another one',
  (folder) => {
    const taken = sourcesOf(folder).filter(({ text }) => /import\.meta\.url\)\.pathname/.test(text))
    expect(taken.map(({ path }) => path)).toEqual([])
  },
)

test.each(['src', 'test', 'scripts'])('no file below %s cites a document that is not in the repository', (folder) => {
  const citation = new RegExp(`\\b(${['interface', 'completions', 'design', 'hardening'].join('|')})[.]md\\b`)
  expect(
    sourcesOf(folder)
      .filter(({ text }) => citation.test(text))
      .map(({ path }) => path),
  ).toEqual([])
})

const broken: [string, Source][] = [
  ['kernel imports nothing of ours', { path: 'kernel/a.ts', text: "import { x } from '../config/index.ts'" }],
  [
    'contract files import the kernel and other contract files',
    { path: 'contract/a.ts', text: "export * from '../gateway/call.ts'" },
  ],
  ['kernel and contract files are safe in a browser', { path: 'contract/a.ts', text: "import fs from 'node:fs'" }],
  [
    'only app.ts, gateway and backends see Express',
    { path: 'identity/a.ts', text: "import type { Request } from 'express'" },
  ],
  [
    'only stores, schemas and database see SQL',
    { path: 'banking/wallets/service.ts', text: "import { sql } from 'kysely'" },
  ],
  [
    'compose gets domains from banking/index.ts, and only by their definitions',
    { path: 'compose/domains.ts', text: "import { createWallets } from '../banking/wallets/index.ts'" },
  ],
  ['domains do not import each other', { path: 'banking/wallets/service.ts', text: "import '../transfers/index.ts'" }],
  ['only through index.ts', { path: 'compose.ts', text: "import './identity/login/service.ts'" }],
  ['only through index.ts', { path: 'compose/jobs.ts', text: "import '../identity/schema.ts'" }],
  ['only through index.ts', { path: 'compose/migrations.ts', text: "import '../identity/login/schema.ts'" }],
  [
    'database imports the kernel, platform imports the kernel and the database',
    { path: 'platform/mail/a.ts', text: "const x = await import('../../banking/wallets/index.ts')" },
  ],
  [
    'database imports the kernel, platform imports the kernel and the database',
    { path: 'platform/mail/a.ts', text: "import '../../config/index.ts'" },
  ],
  [
    'a server loads no client, testing kit, conformance or load generator',
    { path: 'compose/a.ts', text: "const x = await import('../client/index.ts')" },
  ],
  ['only compose chooses implementations', { path: 'banking/files/a.ts', text: "import '../../compose/shared.ts'" }],
  ...[
    '../../identity/index.ts',
    '../../gateway/pipeline/ports.ts',
    '../../config/index.ts',
    '../../compose/domains.ts',
    '../../platform/jobs/runner.ts',
    '../../database/transaction.ts',
  ].map((target): [string, Source] => [
    'domains import the public API, contract files, and index files of kernel, database, platform and ledger',
    { path: 'banking/files/a.ts', text: `import type { A } from '${target}'` },
  ]),
  [
    'identity does not import domains, ledger, gateway or backends',
    { path: 'identity/a.ts', text: "import '../gateway/call.ts'" },
  ],
  ['the ledger imports no domain', { path: 'ledger/a.ts', text: "import '../banking/wallets/index.ts'" }],
  ['the gateway imports no domain and no identity', { path: 'gateway/a.ts', text: "import '../identity/index.ts'" }],
  [
    'the client imports kernel and contract files only, and is safe in a browser',
    { path: 'client/a.ts', text: "import '../openapi/index.ts'" },
  ],
  ['what a browser loads imports zod as a namespace', { path: 'contract/a.ts', text: "import { z } from 'zod'" }],
  ['no enum, no any, no switched-off check', { path: 'identity/a.ts', text: 'const x: any = 1' }],
  ['process.env is read in one file', { path: 'main.ts', text: 'const port = process.env.PORT' }],
  ['only the shared resolver looks up names', { path: 'backends/a.ts', text: "import dns from 'node:dns'" }],
  ['the clock is handed in', { path: 'identity/a.ts', text: 'const now = Date.now()' }],
  [
    'durations of upstreams and streams are handed in',
    { path: 'backends/a.ts', text: 'const start = performance.now()' },
  ],
  ['randomness is handed in', { path: 'identity/a.ts', text: 'const x = Math.random()' }],
  ['a statement starts when it is awaited', { path: 'identity/a.ts', text: 'lockAccount(tx).then(assertActive)' }],
  [
    'nothing built in is called only for what it throws',
    { path: 'gateway/a.ts', text: 'try {\n  decodeURIComponent(x)\n} catch {}' },
  ],
  ['none above 400', { path: 'identity/a.ts', text: 'x\n'.repeat(401) }],
]

test.each(broken)('a broken rule is found: %s', (rule, source) => {
  expect(violations([source]).join('\n')).toContain(rule)
})

test('the own domains of Portico are made by `domain`, as those of extensions', () => {
  const entries = sourcesOf('src').filter(({ path }) => /^banking\/[^/]+\/index\.ts$/.test(path))
  expect(entries).toHaveLength(bankingDomains.length)
  for (const { path, text } of entries) {
    expect(text, path).toMatch(/^import \{[^}]*\bdomain\b[^}]*\} from '..\/..\/api\/domain.ts'$/m)
    expect(text, path).toMatch(/^export default domain\(\{/m)
  }
})

test("Portico's domains import only what an extension could, types included", () => {
  expect(privateImports(sourcesOf('src'))).toEqual([])
})

test.each([
  ["import { a } from '../../ledger/index.ts'", ['ledger/index.ts a']],
  ["import { a as b, type C } from '../../ledger/index.ts'", ['ledger/index.ts a', 'ledger/index.ts C']],
  ["import * as ledger from '../../ledger/index.ts'", ['ledger/index.ts *']],
  ["import '../../ledger/index.ts'", ['ledger/index.ts *']],
  ["export { a } from '../../ledger/index.ts'", ['ledger/index.ts a']],
  ["export * from '../../ledger/index.ts'", ['ledger/index.ts *']],
  ["const a = await import('../../ledger/index.ts')", ['ledger/index.ts *']],
  ["type A = import('../../ledger/index.ts').B", ['ledger/index.ts B']],
  ["import type { a } from '../transfers/contract.ts'", ['banking/transfers/contract.ts a']],
  ["import { Refusal } from '../../kernel/index.ts'", []],
  ["import { memberContext } from '../../ledger/index.ts'", []],
  ["import { z } from 'zod'", []],
  ["import { a } from './store.ts'", []],
])('a private import is found: %s', (text, expected) => {
  const publicFiles = sourcesOf('src').filter(({ path }) => path.startsWith('api/'))
  const path = 'banking/wallets/a.ts'
  const found = privateImports([...publicFiles, { path, text }])
  expect(found).toEqual(expected.map((name) => `${path}: ${name}`))
})

test('a skipped test has a reason: see test/harness/needs.ts', () => {
  const withoutReason = /\.(?:skipIf|runIf|todo)\(|\b(?:test|it|describe)\.skip\b|\bskip\(\)/
  const quotes = ['architecture/architecture.test.ts', 'scripts/reporter.test.ts']
  const found = sourcesOf('test').filter(({ path, text }) => withoutReason.test(text) && !quotes.includes(path))
  expect(found.map(({ path }) => path)).toEqual([])
})

test('each rule is shown being broken', () => {
  const shown = new Set(broken.map(([rule]) => rule))
  expect([...importRules, ...textRules].map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([])
})

test('comments may speak of what code may not do', () => {
  expect(violations([{ path: 'identity/a.ts', text: '// never Date.now() here\n/* nor process.env */' }])).toEqual([])
})
