import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/recharges/contract.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { confirmation } from '../../harness/confirmation.ts'
import { refusalOf } from '../world.ts'
import { lifeMs, openRecharges } from './world.ts'

const cancelReason = { cancelReason: 'changed my mind' }
const reason = { reason: 'no such payment' }

describe('recharges', () => {
  let fixture: Awaited<ReturnType<typeof openRecharges>>
  const [maker, checker] = [systemIds.next<'account'>(), systemIds.next<'account'>()]
  beforeAll(async () => {
    fixture = await openRecharges()
  })
  afterAll(() => fixture?.close())
  const as = () => ({ as: maker, workspace: fixture.wallet.workspace })
  const create = (requestId: string = systemIds.next()) =>
    fixture.call(contract.createRecharge, {
      ...as(),
      requestId,
      body: { walletBizId: fixture.wallet.id, channelCode: 'TOKEN', amount: '10.00' },
    })
  const paramsOf = (id: string) => ({ params: { recharge_id: id } })
  const runJob = () =>
    fixture.jobs[0]?.work(null, { jobId: 'x', attempt: 1, signal: new AbortController().signal, drop: () => undefined })

  test('recharges.confirm, reject 403 ACCESS.PERMISSION_DENIED: own recharge', async () => {
    const { bizId } = await create()
    expect(
      await refusalOf(fixture.call(contract.confirmRecharge, { as: maker, ...paramsOf(bizId), body: confirmation() })),
    ).toBe('ACCESS.PERMISSION_DENIED')
    const body = { fileBizId: systemIds.next() }
    await fixture.call(contract.submitRechargeProof, { ...as(), ...paramsOf(bizId), body })
    for (const refused of [
      () => fixture.call(contract.confirmRecharge, { as: maker, ...paramsOf(bizId), body: confirmation() }),
      () => fixture.call(contract.rejectRecharge, { as: maker, ...paramsOf(bizId), body: reason }),
    ])
      expect(await refusalOf(refused())).toBe('ACCESS.PERMISSION_DENIED')
    await fixture.call(contract.confirmRecharge, { as: checker, ...paramsOf(bizId), body: confirmation() })
    expect(await fixture.available(fixture.wallet)).toBe('10.00')
  })

  test('recharges: EXPIRED at expiresAt, before the job, in reads, filters and commands; a proof stops it', async () => {
    const { call, clock } = fixture
    const requestId = systemIds.next()
    const first = await create(requestId)
    const withProof = await create()
    await call(contract.submitRechargeProof, {
      ...as(),
      ...paramsOf(withProof.bizId),
      body: { fileBizId: systemIds.next() },
    })
    const read = (id = first.bizId) => call(contract.readRecharge, { ...as(), ...paramsOf(id) })
    const listed = async (rechargeStatus: string) =>
      (await call(contract.listRecharges, { ...as(), query: { rechargeStatus } })).items.map(({ bizId }) => bizId)
    clock.advance(lifeMs - 1)
    expect((await read()).rechargeStatus.code).toBe('PENDING_PAYMENT')
    expect(await listed('EXPIRED')).toEqual([])
    clock.advance(1)
    const beforeJob = await read()
    expect(beforeJob).toMatchObject({ version: 1, rechargeStatus: { code: 'EXPIRED' } })
    expect(beforeJob.statusHistory.at(-1)).toMatchObject({ status: { code: 'EXPIRED' }, at: first.expiresAt })
    expect(beforeJob.updatedAt).toBe(first.expiresAt)
    const lastChanged = async () =>
      (await call(contract.listRecharges, { ...as(), query: { sortBy: 'updatedAt', pageSize: '1' } })).items[0]
    expect(await lastChanged()).toMatchObject({ bizId: first.bizId, updatedAt: first.expiresAt })
    expect(await listed('EXPIRED')).toEqual([first.bizId])
    expect(await listed('PENDING_PAYMENT')).toEqual([])
    const body = { fileBizId: systemIds.next() }
    for (const refused of [
      call(contract.cancelRecharge, { ...as(), ...paramsOf(first.bizId), body: cancelReason }),
      call(contract.submitRechargeProof, { ...as(), ...paramsOf(first.bizId), body }),
    ])
      expect(await refusalOf(refused)).toBe('STATE.CONFLICT')
    expect(await create(requestId)).toEqual(first)
    clock.advance(10_000)
    const later = await create()
    clock.advance(20_000)
    await runJob()
    await runJob()
    const afterJob = await read()
    expect(afterJob).toMatchObject({ version: 2, rechargeStatus: { code: 'EXPIRED' } })
    // The expiry is at `expiresAt`, not when the job runs.
    expect(afterJob.statusHistory).toEqual(beforeJob.statusHistory)
    expect(afterJob.updatedAt).toBe(beforeJob.updatedAt)
    expect(await lastChanged()).toMatchObject({ bizId: later.bizId })
    expect(await listed('EXPIRED')).toEqual([first.bizId])
    expect((await read(withProof.bizId)).rechargeStatus.code).toBe('PROOF_SUBMITTED')
    expect(await fixture.ledger.verifyLedger()).toBeNull()
  })

  test('recharges.confirm 200 without a reference: money.recharge.referenceRequired is false', async () => {
    const { wallet, call, close } = await openRecharges({ referenceRequired: false })
    const body = { walletBizId: wallet.id, channelCode: 'TOKEN', amount: '10.00' }
    const confirm = async (sent?: object) => {
      const { bizId } = await call(contract.createRecharge, { as: maker, workspace: wallet.workspace, body })
      return call(contract.confirmRecharge, { as: checker, ...paramsOf(bizId), ...(sent && { body: sent }) })
    }
    for (const sent of [undefined, {}]) expect((await confirm(sent)).externalReference).toBeNull()
    await confirm(confirmation('R-1'))
    expect(await refusalOf(confirm(confirmation('R-1')))).toBe('STATE.CONFLICT')
    await close()
  })
})
