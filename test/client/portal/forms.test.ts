import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { codeLists, formBodies } from '../../../scripts/client/forms.ts'
import { methods } from '../../../scripts/client/methods.ts'
import { buildClientPackage } from '../../../scripts/client-package.ts'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { listRefusals } from '../../../src/contract/policies.ts'
import { root } from '../../harness/settings.ts'
import { transfer } from '../fixtures.ts'

let folder: string
let forms: Record<string, unknown>
beforeAll(async () => {
  // Imports resolve only inside the project.
  folder = await mkdtemp(join(root, 'node_modules', '.portico-forms-'))
  buildClientPackage(folder)
  forms = await import(pathToFileURL(join(folder, 'client/forms.js')).href)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function bundleOf(name: string): Promise<string> {
  const input = join(folder, 'form.js')
  await writeFile(input, `import { ${name} } from './client/forms.js'\nconsole.log(${name})`)
  await using bundle = await rolldown({ input, platform: 'browser' })
  return (await bundle.generate({ minify: true })).output[0].code
}

function schemaOf(name: string): z.ZodType {
  const schema = forms[name]
  return schema instanceof z.ZodType ? schema : expect.fail(`${name} is not a schema`)
}

test('a request schema accepts what the operation accepts, and names the invalid field', () => {
  const schema = schemaOf('CreateTransferRequest')
  expect(schema.safeParse(transfer).success).toBe(true)
  const invalid = [
    ['amount', { ...transfer, amount: '1.999' }],
    ['currency', { ...transfer, currency: 'usd' }],
    ['targetWalletBizId', { ...transfer, targetWalletBizId: transfer.sourceWalletBizId }],
  ] as const
  for (const [field, body] of invalid) expect(schema.safeParse(body).error?.issues[0]?.path).toEqual([field])
})

test('every JSON body of the client has a schema, except those that depend on all domains', () => {
  const bodies = Object.values(methods)
    .flat()
    .flatMap(({ name, operation }) => (operation.body instanceof z.ZodType ? name : []))
  const names = new Set(formBodies.map(({ operation }) => operation))
  expect([...new Set(bodies)].filter((name) => !names.has(name))).toEqual(['createExport'])
  for (const { schema } of formBodies) expect(schemaOf(schema).safeParse).toBeTypeOf('function')
})

test('lists of codes: coded values, the refusals of an operation, and all refusals', () => {
  expect(forms).toMatchObject(codeLists)
  expect(forms.transferStatusCodes).toEqual([
    'PENDING_APPROVAL',
    'PROCESSING',
    'COMPLETED',
    'FAILED',
    'CANCELLED',
    'EXPIRED',
  ])
  expect(new Set(codeLists.createTransferRefusals)).toEqual(
    new Set([...listRefusals(createTransfer, 'consumer'), ...listRefusals(createTransfer, 'api')]),
  )
  expect(codeLists.refusalCodes).toContain('WALLET.INSUFFICIENT_FUNDS')
})

test('a page bundles only what it uses: the guide has the size of a schema', async () => {
  for (const list of ['transferStatusCodes', 'createTransferRefusals']) {
    const code = await bundleOf(list)
    expect([list, code.length < 1_500, code.includes('/wallets')]).toEqual([list, true, false])
  }
  const schema = await bundleOf('CreateTransferRequest')
  for (const other of ['/auth/login', '/withdrawal', '/recharge', '/roles']) expect(schema).not.toContain(other)
  const guide = await readFile(join(root, 'docs/guides/client-size.md'), 'utf8')
  const figure = 1_000 * Number(/A schema adds about (\d+) kB/.exec(guide)?.[1])
  expect(Math.abs(gzipSync(schema).length - figure)).toBeLessThan(1_500)
})
