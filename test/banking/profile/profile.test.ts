import { afterAll, beforeAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/profile/contract.ts'
import { createProfile } from '../../../src/banking/profile/index.ts'
import { type AccountId, type HandlerTable, minutes } from '../../../src/kernel/index.ts'
import { isCountry, parsePhone } from '../../../src/platform/countries.ts'
import { createWorld, refusalOf, transactionOf, type World, words } from '../world.ts'

let world: World
let handlers: HandlerTable
let account: AccountId
beforeAll(async () => {
  world = await createWorld()
  account = await world.account('Ada@Example.test')
  handlers = createProfile({
    database: world.database,
    transaction: transactionOf(world.database),
    words,
    isCountry,
    parsePhone,
  }).handlers
})
afterAll(() => world.close())

test('profile.read 200: the caller’s profile', async () => {
  expect(await world.call(handlers, contract.readProfile, { as: account, locale: 'vi' })).toMatchObject({
    bizId: account,
    accountEmail: 'Ada@Example.test',
    accountPhone: '',
    accountRemark: null,
    accountPortal: { code: 'CONSUMER', value: 10010104, label: 'Cổng người dùng' },
    accountStatus: { code: 'ACTIVE', value: 10010202 },
    createdAt: '2026-03-01T09:00:00.000Z',
    defaultLanguage: 'en',
    defaultTimezone: 'Europe/Berlin',
    defaultCountry: 'DE',
  })
})

test('profile.update 200: changes only the fields in the request, with an audit entry', async () => {
  world.clock.advance(minutes(1))
  const body = { accountName: 'Ada', accountPhone: '+84 28 3823 4567', defaultLanguage: 'vi', defaultCountry: 'VN' }
  const changed = await world.call(handlers, contract.updateProfile, { as: account, body })
  const accountPhone = '+842838234567'
  expect(changed).toMatchObject({
    ...body,
    accountPhone,
    defaultTimezone: 'Europe/Berlin',
    updatedAt: '2026-03-01T09:01:00.000Z',
  })
  expect(await world.call(handlers, contract.readProfile, { as: account })).toEqual(changed)
  const entries = await world.database.selectFrom('audit_log').selectAll().execute()
  expect(entries).toMatchObject([{ action: 'profile.update', actorBizId: account, outcome: 'SUCCESS', detail: {} }])
})

test.each([
  ['030 901820', 'DE', '+4930901820'],
  ['(030) 90 18 20', 'DE', '+4930901820'],
  ['0049 30/901820', 'DE', '+4930901820'],
  ['\u202a+49\u00a030\u2011901820\u202c', 'VN', '+4930901820'],
  ['+49 (0)30 901820', 'JP', '+4930901820'],
  ['０３ー３５８１ー０１０１', 'JP', '+81335810101'],
  ['028 3823 4567', 'VN', '+842838234567'],
  ['(202) 555-0123', 'US', '+12025550123'],
  ['  ', 'DE', ''],
])('profile.update 200: stores the telephone number %s of %s as %s', async (typed, defaultCountry, stored) => {
  const country = { as: account, body: { defaultCountry } }
  await world.call(handlers, contract.updateProfile, country)
  const body = { accountPhone: typed }
  expect((await world.call(handlers, contract.updateProfile, { as: account, body })).accountPhone).toBe(stored)
})

test.each(['12', '+999 30 901820', '+49 30 901820 901820 901820', 'call me', '+49 30 <b>1</b>'])(
  'profile.update 400 VALIDATION.INVALID_PARAMETER: the telephone number %s',
  async (accountPhone) => {
    const call = world.call(handlers, contract.updateProfile, { as: account, body: { accountPhone } })
    expect(await refusalOf(call)).toBe('VALIDATION.INVALID_PARAMETER')
  },
)

test('profile.read 200: a telephone number that was stored before as it was typed', async () => {
  await world.database.updateTable('accounts').set({ phone: '030 901820' }).where('bizId', '=', account).execute()
  const read = await world.call(handlers, contract.readProfile, { as: account })
  expect(read.accountPhone).toBe('030 901820')
})

test('profile.update 400 VALIDATION.INVALID_PARAMETER: unknown country, empty update', async () => {
  const call = world.call(handlers, contract.updateProfile, { as: account, body: { defaultCountry: 'ZZ' } })
  expect(await refusalOf(call)).toBe('VALIDATION.INVALID_PARAMETER')
  const empty = world.call(handlers, contract.updateProfile, { as: account, body: {} })
  expect(await refusalOf(empty)).toBe('VALIDATION.INVALID_PARAMETER')
})

test('profile.update 200: keeps such a number if a form sends it again, also with another country', async () => {
  const stored = '12 34 567'
  await world.database.updateTable('accounts').set({ phone: stored }).where('bizId', '=', account).execute()
  for (const defaultCountry of ['FR', 'AQ']) {
    const body = { accountPhone: stored, defaultCountry }
    expect((await world.call(handlers, contract.updateProfile, { as: account, body })).accountPhone).toBe(stored)
  }
})
