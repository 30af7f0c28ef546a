import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/recharges/contract.ts'
import { type Refusal, toDate } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { insertAccount, refusalOf } from '../world.ts'
import { openRecharges } from './world.ts'

const rent = { externalReference: 'Rent' }
const reason = 'the rent of another flat'

describe('a reference that identifies no payment', () => {
  let fixture: Awaited<ReturnType<typeof openRecharges>>
  const [maker, first, second] = [systemIds.next<'account'>(), systemIds.next<'account'>(), systemIds.next<'account'>()]
  beforeAll(async () => {
    fixture = await openRecharges({ channels: [{ channelCode: 'OTHER' }] })
    await confirm(await create('1.00'))
  })
  afterAll(() => fixture?.close())

  const create = async (amount: string, channelCode = 'TOKEN', wallet = fixture.wallet): Promise<string> => {
    const body = { walletBizId: wallet.id, channelCode, amount }
    return (await fixture.call(contract.createRecharge, { as: maker, workspace: wallet.workspace, body })).bizId
  }
  const allow = (id: string, body: object = {}, as = first) =>
    fixture.call(contract.allowRechargeReference, {
      ...{ as, params: { recharge_id: id }, body: { ...rent, reason, ...body } },
    })
  const confirm = (id: string, body: object = rent, as = second) =>
    fixture.call(contract.confirmRecharge, { as, params: { recharge_id: id }, body })
  const read = (id: string) => fixture.call(contract.readAnyRecharge, { as: second, params: { recharge_id: id } })
  const refused = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      ({ code, detail }: Refusal) => [code, detail.field],
    )
  const usedAlready = ['STATE.CONFLICT', 'externalReference']
  const denied = ['ACCESS.PERMISSION_DENIED', undefined]

  test('recharges.allowReference 200: another operator confirms with it once, and operators see both', async () => {
    const id = await create('2.00')
    expect(await refused(confirm(id))).toEqual(usedAlready)
    const allowance = { ...rent, reason, actorBizId: first, createdAt: expect.any(String), usedAt: null }
    await allow(id)
    expect((await read(id)).referenceAllowances).toEqual([allowance])
    const { items } = await fixture.call(contract.listAllRecharges, { as: second })
    expect(items.filter(({ referenceAllowances }) => referenceAllowances)).toMatchObject([{ bizId: id }])
    expect((await confirm(id, { externalReference: 'RENT!' })).externalReference).toBe('RENT!')
    expect((await read(id)).referenceAllowances).toEqual([{ ...allowance, usedAt: expect.any(String) }])
    const third = await create('3.00')
    expect(await refused(confirm(third))).toEqual(usedAlready)
  })

  test('recharges.confirm 403: the operator who allowed the reference', async () => {
    const id = await create('4.00')
    await allow(id)
    expect(await refused(confirm(id, rent, first))).toEqual(denied)
    await confirm(id)
  })

  test('recharges.confirm 409: with the allowance of another recharge, or for another reference', async () => {
    await confirm(await create('5.00'), { externalReference: 'NOTPROVIDED' })
    const [id, other] = [await create('6.00'), await create('7.00')]
    await allow(id)
    expect(await refused(confirm(other))).toEqual(usedAlready)
    expect(await refused(confirm(id, { externalReference: 'NOTPROVIDED' }))).toEqual(usedAlready)
    await confirm(id)
  })

  test('recharges.allowReference 403: the creator, and 400 for a reference without letters and digits', async () => {
    const id = await create('8.00')
    expect(await refused(allow(id, {}, maker))).toEqual(denied)
    expect(await refused(allow(id, { externalReference: '---' }))).toEqual([
      ...['VALIDATION.INVALID_PARAMETER', 'externalReference'],
    ])
    for (const body of [{ reason: '' }, { reason: undefined }])
      expect(await refused(allow(id, body))).toEqual(['VALIDATION.INVALID_PARAMETER', 'reason'])
  })

  test('recharges.allowReference, confirm 403: members of the workspace, and one person with two accounts', async () => {
    const { database, clock, wallet } = fixture
    const account = (email: string, portal?: 'SYSTEM') => insertAccount(database, email, clock.now(), portal)
    const [member, asOperator] = [await account('ann@demo.test'), await account('ann@demo.test', 'SYSTEM')]
    const at = toDate(clock.now())
    const [role, dates] = [systemIds.next<'role'>(), { createdAt: at, updatedAt: at }]
    const named = { roleName: 'Clerk', description: '', roleType: 'CUSTOM' } as const
    const of = { workspaceBizId: wallet.workspace, ...dates }
    await database
      .insertInto('roles')
      .values({ bizId: role, permissionCodes: [], ...named, ...of })
      .execute()
    const joined = { joinSource: 'INVITATION', isDefault: false, policyConfig: null } as const
    await database
      .insertInto('memberships')
      .values({ accountBizId: member, roleBizId: role, ...joined, ...of })
      .execute()
    const id = await create('50.00')
    expect(await refused(allow(id, {}, asOperator))).toEqual(denied)
    const [bob, bobAgain] = [await account('bob@demo.test', 'SYSTEM'), await account('bob+2@demo.test', 'SYSTEM')]
    await allow(id, {}, bob)
    expect(await refused(confirm(id, rent, bobAgain))).toEqual(denied)
    await confirm(id)
  })

  test('recharges.allowReference 409: an unused reference, a second allowance, and a recharge that has ended', async () => {
    const id = await create('9.00')
    expect(await refused(allow(id, { externalReference: 'unused' }))).toEqual(usedAlready)
    await allow(id)
    expect(await refused(allow(id, {}, second))).toEqual(usedAlready)
    await confirm(id)
    expect(await refusalOf(allow(id))).toBe('STATE.CONFLICT')
  })

  test('recharges.allowReference 409: the amount, day and payer of an earlier use; 200 if one of them differs', async () => {
    const sameAmount = await create('1.00')
    expect(await refused(allow(sameAmount))).toEqual(usedAlready)
    const otherPayer = await create('1.00', 'TOKEN', await fixture.openWallet('USD'))
    await allow(otherPayer)
    await confirm(otherPayer)
    fixture.clock.advance(24 * 3_600_000)
    const otherDay = await create('1.00')
    await allow(otherDay)
    await confirm(otherDay)
    expect(await refused(allow(await create('1.00')))).toEqual(usedAlready)
  })

  test('recharges.confirm 409: a received amount that makes the payment equal to an earlier use', async () => {
    await confirm(await create('20.00'), { externalReference: 'Gift' })
    const id = await create('21.00')
    await allow(id, { externalReference: 'Gift' })
    const gift = { externalReference: 'gift' }
    expect(await refused(confirm(id, { ...gift, receivedAmount: '20.00' }))).toEqual(usedAlready)
    expect((await read(id)).referenceAllowances).toMatchObject([{ usedAt: null }])
    await confirm(id, { ...gift, receivedAmount: '20.01' })
  })

  test('recharges.confirm 409: of two allowed recharges with the same amount, day and payer, only one', async () => {
    const [one, other] = [await create('30.00'), await create('30.00')]
    await allow(one)
    await allow(other)
    await confirm(one)
    expect(await refused(confirm(other))).toEqual(usedAlready)
  })

  test('recharges.allowReference 200: an expired recharge, which another operator confirms', async () => {
    const id = await create('40.00')
    fixture.clock.advance(60_000)
    await allow(id)
    await confirm(id)
    expect(await fixture.ledger.verifyLedger()).toBeNull()
  })
})
