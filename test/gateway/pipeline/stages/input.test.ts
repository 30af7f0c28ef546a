import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { listTimezones } from '../../../../src/banking/constants/contract.ts'
import {
  isTransferCompleted,
  listTransfers,
  listWalletTransfers,
  readTransfer,
} from '../../../../src/banking/transfers/contract.ts'
import { readWallet } from '../../../../src/banking/wallets/contract.ts'
import { catalogue } from '../../../../src/contract/index.ts'
import { validateStage } from '../../../../src/gateway/pipeline/stages/index.ts'
import { parseQuery } from '../../../../src/gateway/pipeline/stages/input.ts'
import { logout } from '../../../../src/identity/login/contract.ts'
import { closeSecureChannel } from '../../../../src/identity/secure-channel/contract.ts'
import { type ChainId, type Operation, pathParamNames } from '../../../../src/kernel/index.ts'
import { refusalOf } from '../../../banking/world.ts'
import { arrivedCall } from '../../../harness/call.ts'
import { testSettings } from '../../../harness/settings.ts'
import { portalCall, refused } from './portal-call.ts'

const invalid = 'VALIDATION.INVALID_PARAMETER'

describe('a query', () => {
  const settings = testSettings({})
  const checked = (operation: Operation, query: string, chainId: ChainId = 'consumer') =>
    refused(() => validateStage(settings)(portalCall(operation, {}, chainId, query)))

  test('500 for a missing query on portals with the observed errors only', async () => {
    settings.portals.CONSUMER.compatibility.observedErrors = true
    expect(await checked(listTransfers, '')).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
    expect(await checked(listTransfers, '', 'api')).toBeUndefined()
    settings.portals.CONSUMER.compatibility.observedErrors = false
    expect(await checked(listTransfers, '')).toEqual([invalid, 'query'])
  })

  test('500 without a channel session to close, 400 without the observed errors', async () => {
    settings.portals.CONSUMER.compatibility.observedErrors = true
    expect(await checked(closeSecureChannel, '')).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
    settings.portals.CONSUMER.compatibility.observedErrors = false
    expect(await checked(closeSecureChannel, '')).toEqual([invalid, 'x-secure-channel-session-id'])
    const atSystem = portalCall(closeSecureChannel, {}, 'system')
    atSystem.portal = 'SYSTEM'
    settings.portals.SYSTEM.compatibility.observedErrors = true
    expect(await refused(() => validateStage(settings)(atSystem))).toEqual(['SYSTEM.INTERNAL_ERROR', undefined])
  })

  test('400 for an undeclared name, with its name if printable', async () => {
    expect(await checked(listTimezones, 'odd=1')).toEqual([invalid, 'odd'])
    expect(await checked(listTimezones, '%3Cb%3E=1')).toEqual([invalid, 'query'])
    expect(await checked(listTimezones, `${'a'.repeat(65)}=1`)).toEqual([invalid, 'query'])
    expect(await checked(listTransfers, '%3Cb%3E=1')).toEqual([invalid, 'query'])
  })
})

describe('the depth of a list', () => {
  const settings = testSettings({})
  const checked = (query: string, operation: Operation = listTransfers) =>
    refused(() => validateStage(settings)(portalCall(operation, {}, 'consumer', query)))

  test('400 VALIDATION.INVALID_PARAMETER for currentPage: a page that ends beyond maxListDepth', async () => {
    expect(await checked('currentPage=5000&pageSize=20')).toBeUndefined()
    expect(await checked('currentPage=5001&pageSize=20')).toEqual([invalid, 'currentPage'])
    expect(await checked('currentPage=5001')).toEqual([invalid, 'currentPage'])
    expect(await checked('currentPage=1000000&pageSize=1')).toEqual([invalid, 'currentPage'])
    expect(await checked('currentPage=100000&pageSize=1')).toBeUndefined()
    expect(await checked('currentPage=100001&pageSize=1')).toEqual([invalid, 'currentPage'])
  })
})

test.each<[unknown, boolean]>([
  [undefined, true],
  [{}, true],
  [{ surprise: 1 }, false],
  [[], false],
  [null, false],
  ['', false],
  [0, false],
])('an operation without a body accepts %j: %s', async (payload, isTaken) => {
  const call = portalCall(logout)
  call.payload = payload
  expect(await refused(() => validateStage(testSettings({}))(call))).toEqual(isTaken ? undefined : [invalid, 'body'])
})

const id = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'
const validate = validateStage(testSettings({}))
async function validated(operation: Operation, params: Record<string, string>) {
  const call = arrivedCall(operation, { params })
  await validate(call)
  return call.params
}
function refusedWith(operation: Operation, params: Record<string, string>) {
  return validated(operation, params).then(
    () => undefined,
    ({ code, detail }) => [code, detail.field],
  )
}

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

  test.each(withParameters)('$id 404 or 400: an invalid path parameter is refused', async (operation) => {
    for (const name of pathParamNames(operation.path))
      for (const value of hostile) {
        // Clients choose the ids of requests.
        if (name === 'request_id' && /^[ -~]{1,255}$/.test(value)) continue
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

  test('wallets.read: an id in upper case is converted to lower case', async () => {
    expect(await validated(readWallet, { wallet_id: id.toUpperCase() })).toEqual({ wallet_id: id })
  })

  test('a declared schema replaces the id form', async () => {
    const byZone: Operation = { ...listTimezones, path: '/zones/{zone}', params: { zone: z.enum(['utc', 'cet']) } }
    expect(await validated(byZone, { zone: 'utc' })).toEqual({ zone: 'utc' })
    expect(await refusedWith(byZone, { zone: id })).toEqual(['VALIDATION.INVALID_PARAMETER', 'zone'])
  })
})

/** Most schemas would reject these queries for other reasons. */
describe('a query', () => {
  test.each<[string, Record<string, string>]>([
    ['', {}],
    ['&a=1&&b=2&', { a: '1', b: '2' }],
    ['a', { a: '' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1+2%2B3', { a: '1 2+3' }],
    [`${'a'.repeat(64)}=1`, { ['a'.repeat(64)]: '1' }],
  ])('%s is parsed', (query, parameters) => {
    expect(parseQuery(query)).toEqual(parameters)
  })

  test.each([
    'a=1&a=1',
    'a=1&%61=2',
    '=1',
    `${'a'.repeat(65)}=1`,
    'a%5Bb%5D=1',
    'a.b=1',
    '__proto__=1',
    'constructor=1',
    'toString=1',
    'a=%00',
    'a=%ff',
  ])('400 VALIDATION.INVALID_PARAMETER for %s', async (query) => {
    expect(await refusalOf((async () => parseQuery(query))())).toBe('VALIDATION.INVALID_PARAMETER')
  })
})

test('400 VALIDATION.INVALID_PARAMETER: a number in the query that a double changes, with any schema', async () => {
  const query = z.strictObject({
    above: z.coerce.number(),
    note: z.string(),
    at: z.iso.datetime().transform(Date.parse),
  })
  const withQuery: Operation = { ...listTransfers, query }
  const validated = (above: string, note = '1e400', at = '2026-11-28T00:00:00.000Z') => {
    const text = new URLSearchParams({ above, note, at }).toString()
    return refused(() => validateStage(testSettings({}))(portalCall(withQuery, {}, 'consumer', text)))
  }
  for (const exact of ['1', '-1.50', '9007199254740992', '1e2']) expect(await validated(exact), exact).toBeUndefined()
  for (const inexact of ['9007199254740993', '1e-400', '0.1000000000000000055511151231257827'])
    expect(await validated(inexact), inexact).toEqual([invalid, 'above'])
})
