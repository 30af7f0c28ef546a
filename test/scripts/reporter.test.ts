import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { root } from '../harness/settings.ts'
import slowFiles from '../harness/slow-files.json' with { type: 'json' }

// Inside the clone, so that the files find vitest.
mkdirSync(join(root, '.tmp'), { recursive: true })
const folder = mkdtempSync(join(root, '.tmp/reporter-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const files = {
  'vitest.config.js': `export default { test: { reporters: ['${root}test/harness/reporter.ts'] } }`,
  'passes.test.ts': `
    import { expect, test } from 'vitest'
    test('good', () => { console.log('chatter'); expect(1).toBe(1) })`,
  'fails.test.ts': `
    import { beforeAll, describe, expect, test } from 'vitest'
    test('bad', () => { console.log('last words'); expect({ a: 'got' }).toEqual({ a: 'wanted' }) })
    describe('broken', () => {
      beforeAll(() => { throw new Error('no server') })
      test('never runs', () => undefined)
    })`,
  'skips.test.ts': `
    import { describe, test } from 'vitest'
    import { needs } from '${root}test/harness/needs.ts'
    const noRedis = needs(false, 'Redis is not installed')
    describe('suite', noRedis, () => {
      test('one', () => undefined)
      test('two', needs(true, 'unused'), () => undefined)
      describe.each([1, 2])('nested %i', () => test('three', () => undefined))
    })
    test('in the test', ({ skip }) => skip('nothing to do'))
    test.skip('without', () => undefined)`,
}
for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)

function run(...args: string[]) {
  return spawnSync('npx', ['vitest', 'run', '--root', folder, ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', VITEST: undefined },
  })
}

test('the reporter prints failures with their output, a summary, and the skips by reason', () => {
  const { stdout, stderr } = run()
  expect(stdout).toContain('last words')
  for (const failure of ['-   "a": "wanted"', 'Error: no server']) expect(stderr).toContain(failure)
  expect(stdout).toMatch(/Tests +1 failed \| 1 passed \| 7 skipped \(9\)/)
  expect(stdout + stderr).not.toMatch(/chatter|passes\.test/)
  expect(stdout.slice(stdout.indexOf('Skipped'))).toBe(`Skipped tests: 7
       4  Redis is not installed
       1  no reason: skips.test.ts
       1  nothing to do
       1  the setup of the suite failed

`)
})

test('the reporter counts the tests that -t does not select', () => {
  expect(run('-t', 'good').stdout).toContain('the name does not match')
})

test.each(slowFiles)('%s, which runs first, exists', (file) => {
  expect(existsSync(join(root, file))).toBe(true)
})
