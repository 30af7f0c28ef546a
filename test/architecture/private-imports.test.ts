import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readSources } from './check.ts'
import { maxPrivateImports, privateImports, privateImportsOf } from './private-imports.ts'

const sources = readSources(fileURLToPath(new URL('../../src', import.meta.url)))

test("Portico's domains import public names at run time, and the listed private ones", () => {
  const found = privateImportsOf(sources)
  expect([...found].filter(([name]) => !(name in privateImports))).toEqual([])
})

test('the list of private names has no unused entry and does not grow', () => {
  const found = privateImportsOf(sources)
  expect(Object.keys(privateImports).filter((name) => !found.has(name))).toEqual([])
  expect(Object.keys(privateImports)).toHaveLength(maxPrivateImports)
})

test.each([
  ["import { a } from '../../ledger/index.ts'", ['ledger/index.ts a']],
  ["import { a as b, type C } from '../../ledger/index.ts'", ['ledger/index.ts a']],
  ["import * as ledger from '../../ledger/index.ts'", ['ledger/index.ts *']],
  ["import '../../ledger/index.ts'", ['ledger/index.ts *']],
  ["export { a } from '../../ledger/index.ts'", ['ledger/index.ts a']],
  ["export * from '../../ledger/index.ts'", ['ledger/index.ts *']],
  ["const a = await import('../../ledger/index.ts')", ['ledger/index.ts *']],
  ["import { a } from '../transfers/contract.ts'", ['banking/transfers/contract.ts a']],
  ["import { Refusal } from '../../kernel/index.ts'", []],
  ["import type { A } from '../../kernel/index.ts'", []],
  ["import { z } from 'zod'", []],
  ["import { a } from './store.ts'", []],
])('%s', (text, expected) => {
  const publicFiles = sources.filter(({ path }) => path.startsWith('api/'))
  expect([...privateImportsOf([...publicFiles, { path: 'banking/wallets/a.ts', text }]).keys()]).toEqual(expected)
})
