import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callSiteOf, keepCallSite, recordCallSite, withCallSite } from '../../src/kernel/call-site.ts'
import { runProgram } from '../harness/cli.ts'

function declare(declared: object): object {
  recordCallSite(declared)
  return declared
}

test('the call site is the line that called the declaring function', () => {
  const declared = declare({})
  expect(callSiteOf(declared)).toMatch(/\/test\/kernel\/call-site\.test\.ts:14:\d+$/)
  expect(withCallSite('no handler', declared)).toBe(`no handler (${callSiteOf(declared)})`)
})

test('a copy has the place of the original', () => {
  const declared = declare({})
  expect(callSiteOf({ ...declared })).toBeUndefined()
  expect(callSiteOf(keepCallSite(declared, { ...declared }))).toBe(callSiteOf(declared))
})

test('a message about anything else stays as it is', () => {
  for (const other of [{}, null, undefined, 'text', keepCallSite({}, {})])
    expect(withCallSite('no handler', other)).toBe('no handler')
})

test('a path with spaces and letters of other languages is readable', async () => {
  const folder = join(await mkdtemp(join(tmpdir(), 'portico-site-')), 'my dömain')
  await mkdir(folder)
  const file = join(folder, 'index.js')
  await writeFile(file, "import { domain } from 'portico'\nexport default domain({ name: 'X' })\n")
  const { err } = await runProgram(['config', 'check'], { extensions: [file] })
  await rm(folder, { recursive: true })
  expect(err).toContain(`(${file}:2:16)`)
})
