import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/recharges/contract.ts'
import type { Refusal } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { confirmation } from '../../harness/confirmation.ts'
import { refusalOf } from '../world.ts'
import { lifeMs, openRecharges } from './world.ts'

describe('payments that differ from their recharge', () => {
  let fixture: Awaited<ReturnType<typeof openRecharges>>
  const [maker, checker] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
  beforeAll(async () => {
    fixture = await openRecharges({
      channels: [
        { channelCode: 'FEE', fixedFee: '0.30', feeRate: '0.029', dailyMax: '100' },
        { channelCode: 'PROOF', proofRequired: true },
      ],
    })
  })
  afterAll(() => fixture?.close())

  const as = () => ({ as: maker, workspace: fixture.wallet.workspace })
  const paramsOf = (id: string) => ({ params: { recharge_id: id } })
  const create = async (channelCode = 'TOKEN', amount = '10.00'): Promise<string> => {
    const body = { walletBizId: fixture.wallet.id, channelCode, amount }
    return (await fixture.call(contract.createRecharge, { ...as(), body })).bizId
  }
  const expired = async (channelCode?: string, amount?: string) => {
    const id = await create(channelCode, amount)
    fixture.clock.advance(lifeMs)
    return id
  }
  const confirm = (id: string, body: object = confirmation(), more: object = {}) =>
    fixture.call(contract.confirmRecharge, { as: checker, ...paramsOf(id), body, ...more })
  const read = (id: string) => fixture.call(contract.readRecharge, { ...as(), ...paramsOf(id) })
  const credited = async (work: () => Promise<unknown>) => {
    const before = Number(await fixture.available(fixture.wallet))
    await work()
    return (Number(await fixture.available(fixture.wallet)) - before).toFixed(2)
  }
  const used = async (usageOf: string, of: 'WORKSPACE' | 'PERSON' = 'PERSON') => {
    const { workspace } = fixture.wallet
    const sum = { of, usageOf, workspace, actor: maker, currency: 'USD', at: fixture.clock.now() }
    return (await fixture.ledger.readUsage(sum)).minor
  }
  const fieldOf = (work: Promise<unknown>) => work.then(String, (error: Refusal) => error.detail.field)

  test('recharges.confirm 200: an expired recharge, before and after the job has recorded it', async () => {
    for (const recorded of [false, true]) {
      const id = await expired()
      if (recorded)
        await fixture.jobs[0]?.work(null, {
          ...{ jobId: 'x', attempt: 1, signal: new AbortController().signal, drop: () => undefined },
        })
      const change = await credited(async () => {
        expect(await confirm(id)).toMatchObject({ rechargeStatus: { code: 'COMPLETED' }, receivedAmount: null })
      })
      expect(change).toBe('10.00')
      const steps = (await read(id)).statusHistory
      expect(steps.map(({ status }) => status.code)).toEqual(['PENDING_PAYMENT', 'EXPIRED', 'COMPLETED'])
      expect(steps.at(-1)?.actorBizId).toBe(checker)
      expect(await refusalOf(confirm(id))).not.toBe('none')
    }
    expect(await fixture.ledger.verifyLedger()).toBeNull()
  })

  test('recharges.confirm 200: a repeated request of an expired recharge credits and informs once', async () => {
    const id = await expired()
    const [body, more] = [confirmation(), { requestId: systemIds.next() }]
    fixture.notices.length = 0
    const change = await credited(async () => {
      expect(await confirm(id, body, more)).toEqual(await confirm(id, body, more))
    })
    expect([change, fixture.notices]).toMatchObject(['10.00', [{ kind: 'RECHARGE_CORRECTED', about: '10.00 USD' }]])
  })

  test('recharges.confirm 403 ACCESS.PERMISSION_DENIED: own expired recharge', async () => {
    const id = await expired()
    expect(await refusalOf(confirm(id, confirmation(), { as: maker }))).toBe('ACCESS.PERMISSION_DENIED')
    expect((await read(id)).rechargeStatus.code).toBe('EXPIRED')
  })

  test('recharges.confirm 200: an expired recharge without its proof, by a reference', async () => {
    const id = await create('PROOF')
    expect(await refusalOf(confirm(id))).toBe('STATE.CONFLICT')
    fixture.clock.advance(lifeMs)
    await confirm(id)
  })

  test('recharges.confirm 400 VALIDATION.INVALID_PARAMETER: an expired recharge without a reference', async () => {
    const lenient = await openRecharges({ referenceRequired: false })
    const body = { walletBizId: lenient.wallet.id, channelCode: 'TOKEN', amount: '10.00' }
    const { bizId } = await lenient.call(contract.createRecharge, {
      ...{ as: maker, workspace: lenient.wallet.workspace, body },
    })
    lenient.clock.advance(lifeMs)
    for (const sent of [undefined, {}, { externalReference: ' ' }]) {
      const call = lenient.call(contract.confirmRecharge, {
        ...{ as: checker, ...paramsOf(bizId), ...(sent && { body: sent }) },
      })
      expect(await fieldOf(call)).toBe('externalReference')
    }
    await lenient.close()
  })

  test('recharges.confirm 200: an expired recharge counts for its creator, even above the daily limit', async () => {
    const [late, now] = [await expired('FEE', '60.00'), await create('FEE', '90.00')]
    expect(await used('RECHARGE FEE')).toBe(9000n)
    await confirm(late)
    expect([await used('RECHARGE FEE'), await used('RECHARGE FEE', 'WORKSPACE')]).toEqual([15_000n, 15_000n])
    await confirm(now)
    expect(await refusalOf(create('FEE', '1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
    fixture.clock.advance(24 * 3_600_000)
    expect(await used('RECHARGE FEE')).toBe(0n)
  })

  test.each([
    ['less than announced', '8.00', '0.54', '7.46'],
    ['more than announced', '50.00', '1.75', '48.25'],
    ['below the minimum of the channel', '0.99', '0.33', '0.66'],
  ])('recharges.confirm 200 with receivedAmount: %s', async (_, receivedAmount, feeAmount, netAmount) => {
    fixture.clock.advance(24 * 3_600_000)
    const id = await create('FEE', '20.00')
    fixture.notices.length = 0
    const before = await fixture.available(fixture.wallet)
    const shown = await confirm(id, { ...confirmation(), receivedAmount })
    expect(shown).toMatchObject({ amount: '20.00', receivedAmount, feeAmount, netAmount, currency: 'USD' })
    expect(await read(id)).toEqual(shown)
    const minor = (text: string) => BigInt(text.replace('.', ''))
    expect(minor(await fixture.available(fixture.wallet)) - minor(before)).toBe(minor(netAmount))
    expect(await used('RECHARGE FEE')).toBe(minor(receivedAmount))
    expect(fixture.notices).toMatchObject([
      { kind: 'RECHARGE_CORRECTED', about: `20.00 USD → ${receivedAmount} USD`, actorId: null },
    ])
    expect(await fixture.ledger.verifyLedger()).toBeNull()
  })

  test('recharges.confirm 200 with receivedAmount: also of an expired recharge and of one with a proof', async () => {
    fixture.clock.advance(24 * 3_600_000)
    const late = await expired('FEE', '20.00')
    expect((await confirm(late, { ...confirmation(), receivedAmount: '10' })).receivedAmount).toBe('10.00')
    expect(await used('RECHARGE FEE')).toBe(1000n)
    const proved = await create('PROOF')
    const proof = { ...as(), ...paramsOf(proved), body: { fileBizId: systemIds.next() } }
    await fixture.call(contract.submitRechargeProof, proof)
    expect((await confirm(proved, { ...confirmation(), receivedAmount: '9' })).netAmount).toBe('9.00')
  })

  test('recharges.confirm 422 WALLET.LIMIT_EXCEEDED: more than announced, above the daily limit of the channel', async () => {
    fixture.clock.advance(25 * 3_600_000)
    const [id, other] = [await create('FEE', '20.00'), await create('FEE', '60.00')]
    expect(await refusalOf(confirm(id, { ...confirmation(), receivedAmount: '41' }))).toBe('WALLET.LIMIT_EXCEEDED')
    expect((await read(id)).rechargeStatus).toMatchObject({ code: 'PENDING_PAYMENT' })
    await confirm(id, { ...confirmation(), receivedAmount: '40' })
    await confirm(other)
    expect(await used('RECHARGE FEE')).toBe(10_000n)
  })

  test.each([
    ['an amount above the maximum', { receivedAmount: '2000' }, [{ name: 'receivedAmount', reason: 'too_big' }]],
    [
      'an amount above int8',
      { receivedAmount: '92233720368547758.08' },
      [{ name: 'receivedAmount', reason: 'too_big' }],
    ],
    ['an amount within its fee', { receivedAmount: '0.30' }, [{ name: 'receivedAmount', reason: 'too_small' }]],
    ['no reference', { externalReference: null }, [{ name: 'externalReference', reason: 'missing' }]],
    [
      'a reference without letters',
      { externalReference: '-' },
      [{ name: 'externalReference', reason: 'invalid_format' }],
    ],
  ])('recharges.confirm 400 VALIDATION.INVALID_PARAMETER: %s, with the reason', async (_, changed, fields) => {
    fixture.clock.advance(25 * 3_600_000)
    const id = await create('FEE', '20.00')
    await expect(confirm(id, { ...confirmation(), ...changed })).rejects.toMatchObject({ detail: { fields } })
  })

  test('recharges.confirm 200: receivedAmount is null if it equals the announced amount, and nobody is informed', async () => {
    fixture.notices.length = 0
    expect((await confirm(await create(), { ...confirmation(), receivedAmount: '10' })).receivedAmount).toBeNull()
    expect(fixture.notices).toEqual([])
  })

  test.each(['0', '0.00', '-1.00', '1.001', '1e3', 'NaN', '', '01', '1'.padEnd(30, '0'), '0.30', '0.31'])(
    'recharges.confirm 400 VALIDATION.INVALID_PARAMETER: receivedAmount %j, which it names',
    async (receivedAmount) => {
      fixture.clock.advance(24 * 3_600_000)
      const id = await create('FEE', '20.00')
      expect(await fieldOf(confirm(id, { ...confirmation(), receivedAmount }))).toBe('receivedAmount')
      expect((await read(id)).rechargeStatus.code).toBe('PENDING_PAYMENT')
    },
  )
})
