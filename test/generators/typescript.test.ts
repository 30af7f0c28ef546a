import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'
import { root } from '../harness/settings.ts'
import { expectTransfer, follow, runSuccessfully, writeProgram } from './guide.ts'

function compile(folder: string, file: string) {
  const tsc = join(root, 'node_modules/.bin/tsc')
  const options = ['--noEmit', '--strict', '--target', 'esnext', '--module', 'esnext', '--moduleResolution', 'bundler']
  return runSuccessfully(folder, [tsc, ...options, '--allowImportingTsExtensions', '--lib', 'esnext,dom', file])
}

test.each([
  ['openapi-typescript and openapi-fetch', 'TypeScript types'],
  ['@hey-api/openapi-ts', 'TypeScript functions'],
])('%s: the program compiles, signs in and makes a transfer', async (_tool, heading) => {
  const { folder } = await follow(heading)
  const input = join(folder, 'transfer.ts')
  await writeProgram(heading, 'ts', input)
  expect(await compile(folder, 'transfer.ts')).toMatchObject({ stdout: '' })
  await using bundle = await rolldown({ input, platform: 'node' })
  await bundle.write({ file: join(folder, 'transfer.mjs') })
  await expectTransfer(folder, ['node', 'transfer.mjs'])
})
