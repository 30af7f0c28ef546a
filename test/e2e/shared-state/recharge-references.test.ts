import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Session, signIn, signInOnly } from '../../harness/sign-in.ts'
import { codeOf, conflict } from '../money-world.ts'
import { type RechargesWorld, startRechargesWorld } from '../recharges-world.ts'

const { workspace } = developmentIds
const denied = [403, 'ACCESS.PERMISSION_DENIED']
const card = { channelCode: 'CARD_USD' }

describe('a reference that identifies no payment', needsStore(), () => {
  let world: RechargesWorld
  let checker: Session
  beforeAll(async () => {
    world = await startRechargesWorld()
    checker = await signIn(world.portico, 'checker@demo.test')
  })
  afterAll(() => world?.portico.stop())

  const allow = (id: string, externalReference: string, requestId: string = randomUUID()) => {
    const body = { externalReference, reason: 'another flat' }
    return world.system('POST', `/recharges/${id}/allow-reference`, body, requestId)
  }
  const confirm = (id: string, externalReference: string, token = checker.accessToken) =>
    world.portico.call('POST', `/web/v1/system/recharges/${id}/confirm`, { token, body: { externalReference } })
  const create = async (amount: string): Promise<string> => (await world.create({ ...card, amount })).bizId
  const auditOf = async (action: string, id: string) => {
    const { items } = await world.data(world.system('GET', `/audit-log?action=${action}&workspaceId=${workspace}`))
    return items.filter((entry: { targetBizId: string }) => entry.targetBizId === id)
  }

  test('recharges.allowReference 200: a repeated request, audit entries of both operators, and operators see it', async () => {
    const { data, web, system, operator } = world
    await data(confirm(await create('10.00'), 'Rent'))
    const id = await create('11.00')
    expect(codeOf(await confirm(id, 'RENT'))).toEqual(conflict)
    const requestId = randomUUID()
    const reply = await data(allow(id, 'rent', requestId))
    expect(await data(allow(id, 'rent', requestId))).toEqual(reply)
    expect(codeOf(await confirm(id, 'Rent', operator.accessToken))).toEqual(denied)
    const { referenceAllowances } = await data(system('GET', `/recharges/${id}`))
    expect(referenceAllowances).toMatchObject([{ externalReference: 'rent', reason: 'another flat', usedAt: null }])
    await data(confirm(id, 'Rent'))
    const [entry, ...more] = await auditOf('recharges.allowReference', id)
    expect(more).toEqual([])
    expect(entry).toMatchObject({
      actorBizId: referenceAllowances[0].actorBizId,
      detail: { externalReference: 'rent', statedReason: 'another flat' },
    })
    const outcomes = (await auditOf('recharges.confirm', id)).map(
      (each: { outcome: { code: string } }) => each.outcome.code,
    )
    expect(outcomes.filter((code: string) => code === 'SUCCESS')).toHaveLength(1)
    expect((await data(web('GET', `/recharges/${id}`))).referenceAllowances).toBeUndefined()
  })

  test('recharges.confirm: of concurrent confirmations with one reference, only the allowed one takes effect', async () => {
    const { data, system, balanceChange } = world
    await data(confirm(await create('10.00'), 'Gift'))
    const ids: string[] = []
    for (const amount of ['21.00', '22.00', '23.00', '24.00']) ids.push(await create(amount))
    const [allowed = '', ...others] = ids
    await data(allow(allowed, 'Gift'))
    const change = await balanceChange(async () => {
      const responses = await Promise.all([...others, allowed, allowed, allowed].map((id) => confirm(id, 'gift')))
      const statuses = responses.map(({ status }) => status)
      expect(statuses.slice(0, others.length)).toEqual(others.map(() => 409))
      expect(statuses.slice(others.length).toSorted()).toEqual([200, 409, 409])
    })
    // 21.00 minus the fee of 0.91.
    expect(change).toBe(20.09)
    for (const id of others) expect(codeOf(await confirm(id, 'Gift'))).toEqual(conflict)
    expect(await data(system('GET', '/ledger/invariants'))).toMatchObject({ holds: true })
  })

  test('recharges.confirm: of two allowed recharges that can be one payment, only one takes effect', async () => {
    const { data } = world
    await data(confirm(await create('10.00'), 'Loan'))
    const pair = [await create('31.00'), await create('31.00')]
    for (const id of pair) await data(allow(id, 'Loan'))
    const responses = await Promise.all(pair.map((id) => confirm(id, 'Loan')))
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 409])
    const left = pair.find((_, at) => responses[at]?.status === 409) ?? ''
    expect(codeOf(await confirm(left, 'Loan'))).toEqual(conflict)
  })

  test('recharges.allowReference 403 ACCESS.STEP_UP_REQUIRED, 404, 409: no step-up, unknown, a payment used elsewhere', async () => {
    const { data, web } = world
    const id = await create('41.00')
    const body = { externalReference: 'Trial', reason: 'another flat' }
    const { accessToken: token } = await signInOnly(world.portico, 'operator@demo.test')
    const path = `/web/v1/system/recharges/${id}/allow-reference`
    expect(codeOf(await world.portico.call('POST', path, { token, body }))).toEqual([403, 'ACCESS.STEP_UP_REQUIRED'])
    expect(codeOf(await allow('x', 'Trial'))[0]).toBe(404)
    const sandbox = { workspaceName: 'Trial', workspaceKind: 'SANDBOX' }
    const there = { workspace: (await data(web('POST', '/workspaces', sandbox))).bizId }
    const wallets: { bizId: string; currency: string }[] = await data(web('GET', '/wallets', undefined, there))
    const walletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId
    const inSandbox = async (amount: string) =>
      (await data(web('POST', '/recharges', { ...card, walletBizId, amount }, there))).bizId
    await data(confirm(await inSandbox('10.00'), 'Trial'))
    // Nothing has used the reference outside the sandbox.
    expect(codeOf(await allow(id, 'Trial'))).toEqual(conflict)
    const second = await inSandbox('12.00')
    await data(allow(second, 'Trial'))
    await data(web('POST', '/sandbox/reset', undefined, there))
    await data(confirm(await inSandbox('10.00'), 'Trial'))
  })
})
