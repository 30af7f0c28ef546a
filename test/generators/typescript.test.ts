import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'
import { root } from '../harness/settings.ts'
import { follow, runSuccessfully, writeProgram } from './guide.ts'

function compile(folder: string, file: string) {
  const tsc = join(root, 'node_modules/.bin/tsc')
  const options = ['--noEmit', '--strict', '--target', 'esnext', '--module', 'esnext', '--moduleResolution', 'bundler']
  return runSuccessfully(folder, [tsc, ...options, '--allowImportingTsExtensions', '--lib', 'esnext,dom', file])
}

test('openapi-typescript: the types compile', async () => {
  const { folder } = await follow('TypeScript types')
  await writeProgram('TypeScript types', 'ts', join(folder, 'transfers.ts'))
  expect(await compile(folder, 'transfers.ts')).toMatchObject({ stdout: '' })
})

test('@hey-api/openapi-ts: the functions compile, and one signs in and lists wallets', async () => {
  const { folder } = await follow('TypeScript functions')
  const input = join(folder, 'wallets.ts')
  await writeProgram('TypeScript functions', 'ts', input)
  await compile(folder, 'wallets.ts')
  await using bundle = await rolldown({ input, platform: 'node' })
  await bundle.write({ file: join(folder, 'wallets.mjs') })
  const { stdout } = await runSuccessfully(folder, ['node', 'wallets.mjs'])
  expect(stdout).toContain('Main USD')
})
