import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { catalogue } from '../../src/contract/index.ts'
import { listTimezones } from '../../src/domains/constants/contract.ts'
import { isTransferCompleted, listWalletTransfers, readTransfer } from '../../src/domains/transfers/contract.ts'
import { readWallet } from '../../src/domains/wallets/contract.ts'
import { stages } from '../../src/gateway/stages/index.ts'
import { type Operation, pathParamNames } from '../../src/kernel/index.ts'
import { arrivedCall } from '../harness/call.ts'
import { testSettings } from '../harness/settings.ts'

const id = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'
const validate = stages.validate(testSettings({}))
const validated = async (operation: Operation, params: Record<string, string>) => {
  const call = arrivedCall(operation, { params })
  await validate(call)
  return call.params
}
const refusedWith = (operation: Operation, params: Record<string, string>) =>
  validated(operation, params).then(
    () => undefined,
    ({ code, detail }) => [code, detail.field],
  )

const hostile = [
  '../../x',
  '..\\x',
  '..',
  '.',
  '%2e%2e',
  'a\0',
  `${id}\n`,
  ` ${id}`,
  '\u0085',
  'ÿ',
  'x',
  'a'.repeat(9_000),
]

describe('validate', () => {
  const withParameters = catalogue.filter(({ path }) => pathParamNames(path).length > 0)

  test.each(withParameters)('$id 404 or 400: a path parameter outside its form is refused', async (operation) => {
    for (const name of pathParamNames(operation.path))
      for (const value of hostile) {
        const [code] = (await refusedWith(operation, { [name]: value })) ?? []
        expect(['RESOURCE.NOT_FOUND', 'VALIDATION.INVALID_PARAMETER'], value).toContain(code)
      }
  })

  test.each([
    [readWallet, 'wallet_id', 'RESOURCE.NOT_FOUND'],
    [readTransfer, 'order_id', 'RESOURCE.NOT_FOUND'],
    [isTransferCompleted, 'order_id', 'VALIDATION.INVALID_PARAMETER'],
    [listWalletTransfers, 'wallet_id', 'VALIDATION.INVALID_PARAMETER'],
  ])('$0.id $2: the code that the operation declares', async (operation, name, code) => {
    expect(await refusedWith(operation, { [name]: 'x' })).toEqual([code, name])
  })

  test('wallets.read: an id in capitals is validated to lower case', async () => {
    expect(await validated(readWallet, { wallet_id: id.toUpperCase() })).toEqual({ wallet_id: id })
  })

  test('a declared schema replaces the id form', async () => {
    const byZone: Operation = { ...listTimezones, path: '/zones/{zone}', params: { zone: z.enum(['utc', 'cet']) } }
    expect(await validated(byZone, { zone: 'utc' })).toEqual({ zone: 'utc' })
    expect(await refusedWith(byZone, { zone: id })).toEqual(['VALIDATION.INVALID_PARAMETER', 'zone'])
  })
})
