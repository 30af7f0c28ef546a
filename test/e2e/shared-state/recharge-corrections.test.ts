import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { confirmation } from '../../harness/confirmation.ts'
import type { Answer } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { assertOneSucceeds, codeOf, conflict } from '../money-world.ts'
import { type RechargesWorld, startRechargesWorld, stepsOf } from '../recharges-world.ts'

const { workspace } = developmentIds
const lifeMs = 1_500

describe('payments that differ from their recharge', needsStore(), () => {
  let world: RechargesWorld
  let checker: Session
  beforeAll(async () => {
    world = await startRechargesWorld(
      ({ money }) => {
        money.recharge.lifeMs = lifeMs
      },
      { everyMs: { 'recharges.expire': 1_000 } },
    )
    checker = await signIn(world.portico, 'checker@demo.test')
  })
  afterAll(() => world?.portico.stop())

  const card = { channelCode: 'CARD_USD' }
  const confirm = (id: string, body: object = confirmation()) => world.system('POST', `/recharges/${id}/confirm`, body)
  const confirmToo = (id: string, body: object = confirmation()) =>
    world.portico.call('POST', `/web/v1/system/recharges/${id}/confirm`, { token: checker.accessToken, body })
  const read = (id: string) => world.data(world.web('GET', `/recharges/${id}`))
  const isExpired = (id: string) =>
    expect.poll(async () => (await read(id)).rechargeStatus.code, { timeout: 30_000 }).toBe('EXPIRED')
  const noticesOf = async (text: string) =>
    (await world.portico.mailsTo('owner@demo.test')).filter((mail) => mail.text.includes(text))

  test('recharges.confirm 200: of an expired recharge, by one of several operators, and the owners learn it', async () => {
    const { data, system, create, balanceChange } = world
    const { bizId } = await create({ amount: '64.00' })
    await isExpired(bizId)
    const change = await balanceChange(async () => {
      const { body } = await assertOneSucceeds([confirm(bizId), confirmToo(bizId), confirm(bizId), confirmToo(bizId)])
      expect(body.data).toMatchObject({ rechargeStatus: { code: 'COMPLETED' }, amount: '64.00', receivedAmount: null })
      expect(codeOf(await confirm(bizId))).toEqual(conflict)
    })
    expect(change).toBe(64)
    expect(stepsOf(await read(bizId))).toEqual(['PENDING_PAYMENT', 'EXPIRED', 'COMPLETED'])
    const audit = `/audit-log?action=recharges.confirm&workspaceId=${workspace}`
    const entries: { targetBizId: string; outcome: { code: string } }[] = (await data(system('GET', audit))).items
    const successes = entries.filter(({ targetBizId, outcome }) => targetBizId === bizId && outcome.code === 'SUCCESS')
    expect(successes).toHaveLength(1)
    await expect.poll(async () => (await noticesOf('64.00 USD')).length).toBe(1)
    expect((await noticesOf('64.00 USD'))[0]?.text).toContain('A payment arrived late')
  })

  test('recharges.confirm: operators and the expiry job race, and each payment is credited once', async () => {
    const { data, system, create, balanceChange } = world
    const orders: string[] = []
    for (const _ of Array(6)) orders.push((await create({ ...card, amount: '10.00' })).bizId)
    const change = await balanceChange(async () => {
      const succeeded = new Map(orders.map((id) => [id, 0]))
      const tryAll = async (send: (id: string) => Promise<Answer>) => {
        for (const id of orders) {
          const response = await send(id)
          if (response.status === 200) succeeded.set(id, (succeeded.get(id) ?? 0) + 1)
          else expect(codeOf(response)).toEqual(conflict)
        }
      }
      await new Promise((resolve) => setTimeout(resolve, lifeMs / 2))
      for (const _ of Array(3)) await Promise.all([tryAll(confirm), tryAll(confirmToo)])
      expect([...succeeded.values()]).toEqual(orders.map(() => 1))
    })
    // 10.00 minus the fee of 0.59.
    expect(change).toBe(56.46)
    for (const id of orders) expect((await read(id)).statusHistory.at(-1).status.code).toBe('COMPLETED')
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })

  test('recharges.confirm 200 with receivedAmount: shown with the announced one, exported, posted and mailed', async () => {
    const { data, web, system, portico, owner, postingsOf, create } = world
    const { bizId } = await create({ ...card, amount: '73.00' })
    const id = randomUUID()
    const send = () =>
      system('POST', `/recharges/${bizId}/confirm`, { externalReference: id, receivedAmount: '50' }, id)
    const order = await data(send())
    const figures = { amount: '73.00', receivedAmount: '50.00', feeAmount: '1.75', netAmount: '48.25' }
    expect(order).toMatchObject(figures)
    expect(await data(send())).toEqual(order)
    const listed: { bizId: string }[] = (await data(web('GET', '/recharges?rechargeStatus=COMPLETED'))).items
    expect(listed.find((each) => each.bizId === bizId)).toMatchObject(figures)
    expect(await data(system('GET', `/recharges/${bizId}`))).toMatchObject(figures)
    expect((await postingsOf(bizId)).map(([, amount]) => amount).sort()).toEqual(['-1.75', '-48.25', '1.75', '48.25'])
    await expect.poll(async () => (await noticesOf('73.00 USD → 50.00 USD')).length).toBe(1)
    const { bizId: file } = await data(web('POST', '/exports', { exportType: 'RECHARGES', format: 'CSV' }))
    const status = async () => (await data(web('GET', `/exports/${file}`))).exportStatus.code
    await expect.poll(status, { timeout: 30_000 }).toBe('COMPLETED')
    const call = { token: owner.accessToken, workspace }
    const { text } = await portico.call('GET', `/web/v1/consumer/exports/${file}/download`, call)
    expect(text.split('\n').find((row) => row.includes(bizId))).toContain('73.00,USD,1.75,48.25,50.00')
  })
})
