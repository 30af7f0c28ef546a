import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { apiReport, publicModules } from '../../scripts/api-report.ts'
import { root } from '../harness/settings.ts'

let report: string
beforeAll(() => {
  report = apiReport()
})

const help =
  'The public API has changed. If that is intended, run `npm run api:report`, record a decision and add it to the changelog (CONTRIBUTING.md)'

test('docs/reference/public-api.md is what `npm run api:report` writes', () => {
  const committed = readFileSync(join(root, 'docs/reference/public-api.md'), 'utf8')
  expect(report.split('\n'), help).toEqual(committed.split('\n'))
})

/** The entries of the portals share the parts of the first. Operations and forms are generated from the contract. */
const generated = ['unchecked/consumer', 'system', 'unchecked/system', 'forms'].map((name) => `./client/${name}`)

test('the report covers every module of package.json that is not generated', () => {
  const written = Object.keys(manifest.exports).filter((path) => !generated.includes(path))
  expect(written.length).toBe(Object.keys(manifest.exports).length - generated.length)
  const exported = written.map((path) => path.replace(/^\./, 'portico'))
  expect(Object.keys(publicModules)).toEqual(exported)
  for (const module of exported) expect(report).toMatch(new RegExp(`^## ${module}\n\n- \`\\w+\`$`, 'm'))
})

test.each([
  ['the function of a module', 'export declare function portico('],
  ['a field of the ports', 'once<Reply>(request: IdempotentRequest'],
  ['a command of the ledger', 'export interface Ledger '],
  ['a method of the mailer', 'export interface Mailer '],
  ['a method of the cache', 'export interface DomainCache '],
  ['a field of a policy', 'export interface Policy '],
  ['a type that only an export of another type uses', 'export interface CallOptions '],
  ['the global table of codes', 'interface PorticoCodes'],
])('the report contains %s', (_name, declaration) => {
  expect(report).toContain(declaration)
})
