import { afterAll, beforeAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/profile/contract.ts'
import { createProfile } from '../../../src/banking/profile/index.ts'
import { type AccountId, type HandlerTable, minutes } from '../../../src/kernel/index.ts'
import { isCountry } from '../../../src/platform/countries.ts'
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
  expect(changed).toMatchObject({ ...body, defaultTimezone: 'Europe/Berlin', updatedAt: '2026-03-01T09:01:00.000Z' })
  expect(await world.call(handlers, contract.readProfile, { as: account })).toEqual(changed)
  const entries = await world.database.selectFrom('audit_log').selectAll().execute()
  expect(entries).toMatchObject([{ action: 'profile.update', actorBizId: account, outcome: 'SUCCESS', detail: {} }])
})

test('profile.update 400 VALIDATION.INVALID_PARAMETER: unknown country, empty update', async () => {
  const call = world.call(handlers, contract.updateProfile, { as: account, body: { defaultCountry: 'ZZ' } })
  expect(await refusalOf(call)).toBe('VALIDATION.INVALID_PARAMETER')
  const empty = world.call(handlers, contract.updateProfile, { as: account, body: {} })
  expect(await refusalOf(empty)).toBe('VALIDATION.INVALID_PARAMETER')
})
