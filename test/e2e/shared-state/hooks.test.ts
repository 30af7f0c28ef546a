import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { limits } from '../../harness/limits/index.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const refusal = [422, 'LIMIT.EXCEEDED']
const fault = [500, 'SYSTEM.INTERNAL_ERROR']

interface Input {
  amount?: string
  requestId?: string
}

describe('a hook before transfers.create', needsStore(), () => {
  let portico: Portico
  let token: string
  let operator: string

  beforeAll(async () => {
    portico = await startPortico({
      domains: [limits],
      adjust: (settings) => {
        settings.requests.handlerTimeoutMs = 2_000
        settings.money.transferApprovalFrom = { USD: '400.00' }
      },
    })
    // The domain service logs the cause, and the gateway that the service failed.
    portico.expectFault((line) => line.operation === 'transfers.create' || line.operation === 'transfers.approve')
    token = (await signIn(portico)).accessToken
    operator = (await signIn(portico, 'operator@demo.test')).accessToken
  })
  afterAll(() => portico?.stop())

  const counts = async () =>
    (await portico.call('GET', '/web/v1/consumer/limits/counts', { token, workspace })).body.data
  const bodyOf = (remark: string, amount: string) => ({
    sourceWalletBizId: mainUsd,
    targetWalletBizId: savingsUsd,
    amount,
    currency: 'USD',
    remark,
  })
  const transfer = (remark: string, { amount = '1.00', requestId = randomUUID() }: Input = {}) =>
    portico.call('POST', '/web/v1/consumer/transfer/command/create', {
      token,
      workspace,
      headers: { 'x-request-id': requestId },
      body: bodyOf(remark, amount),
    })
  const outcomeOf = async (answer: ReturnType<typeof transfer>) => {
    const { status, body } = await answer
    return [status, body.code]
  }
  const logged = (requestId: string) =>
    portico.log.filter((line) => line.requestId === requestId && line.operation === 'transfers.create')
  /** Returns the rows that a request adds, by kind. */
  const addedBy = async (request: () => Promise<unknown>) => {
    const before = await counts()
    await request()
    const after: Record<string, number> = await counts()
    return Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - before[name]]))
  }
  const nothing = { uses: 0, orders: 0, results: 0, entries: 0 }
  const once = { uses: 1, orders: 1, results: 1, entries: 1 }

  test('transfers.create 200: the row of the hook is committed with the transfer, once per request id', async () => {
    const requestId = randomUUID()
    expect(
      await addedBy(async () => {
        const first = await transfer('fine', { requestId })
        expect([first.status, first.body.data?.transferStatus?.code], first.text).toEqual([200, 'COMPLETED'])
        expect((await transfer('fine', { requestId })).body.data).toEqual(first.body.data)
      }),
    ).toEqual(once)
  })

  test('transfers.create 422 LIMIT.EXCEEDED: nothing remains, also of a retry', async () => {
    const requestId = randomUUID()
    expect(
      await addedBy(async () => {
        for (const _ of ['first', 'retry']) {
          const refused = await transfer('too much', { amount: '500.01', requestId })
          expect([refused.status, refused.body.code]).toEqual(refusal)
          expect(refused.body.message).toBe('the transfer exceeds the limit of the workspace')
        }
      }),
    ).toEqual(nothing)
    expect(logged(requestId).some((line) => line.hook === 'limits' && line.code === 'LIMIT.EXCEEDED')).toBe(true)
    // The same request succeeds once the hook allows it.
    expect((await transfer('less', { requestId })).status).toBe(200)
  })

  test('transfers.create 200: a retry gets the stored reply, although the hook would refuse it now', async () => {
    const requestId = randomUUID()
    const remark = `max 1 ${randomUUID()}`
    const first = await transfer(remark, { requestId })
    expect(first.status, first.text).toBe(200)
    expect(await outcomeOf(transfer(remark))).toEqual(refusal)
    expect(await addedBy(() => transfer(remark, { requestId }))).toEqual(nothing)
    expect((await transfer(remark, { requestId })).body.data).toEqual(first.body.data)
  })

  test('transfers.create 422 REQUEST.ID_REUSED: the command decides about another body of a stored request', async () => {
    const requestId = randomUUID()
    expect((await transfer('fine', { requestId })).status).toBe(200)
    expect(await addedBy(() => transfer('fine', { requestId, amount: '500.01' }))).toEqual(nothing)
    expect(await outcomeOf(transfer('fine', { requestId, amount: '500.01' }))).toEqual([422, 'REQUEST.ID_REUSED'])
  })

  test('transfers.create 422 LIMIT.EXCEEDED: of eight transfers in parallel, a hook that counts lets one pass', async () => {
    const remark = `max 1 ${randomUUID()}`
    expect(
      await addedBy(async () => {
        const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcomeOf(transfer(remark))))
        expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1)
        expect(outcomes.filter(([status]) => status !== 200)).toEqual(Array(7).fill(refusal))
      }),
    ).toEqual(once)
  })

  test('transfers.create 409 REQUEST.IN_PROGRESS: parallel requests with one id run the hook once', async () => {
    const requestId = randomUUID()
    expect(
      await addedBy(async () => {
        const both = await Promise.all([transfer('fine', { requestId }), transfer('fine', { requestId })])
        const codes = both.map(({ status, body }) => (status === 200 ? 200 : body.code))
        expect(codes.filter((code) => code !== 'REQUEST.IN_PROGRESS' && code !== 200)).toEqual([])
      }),
    ).toEqual(once)
  })

  test.each([
    ['throws', 'the limits are on fire'],
    ['fails', 'no_such_function'],
    ['undeclared', 'limits: before.transfers.create refused with STATE.CONFLICT, which limits does not declare'],
    ['database', 'limits uses `database` inside `before`: use `tx`'],
    ['commits', 'COMMIT is not a statement of a command'],
    ['changes', 'the amount is frozen'],
  ])('transfers.create 500 SYSTEM.INTERNAL_ERROR: a hook that %s fails closed', async (remark, cause) => {
    const requestId = randomUUID()
    expect(
      await addedBy(async () =>
        expect((await outcomeOf(transfer(remark, { requestId }))).slice(0, 1)).not.toEqual([200]),
      ),
    ).toEqual(nothing)
    const line = logged(requestId).find(({ hook }) => hook === 'limits')
    expect([line?.code, JSON.stringify(line)]).toEqual([fault[1], expect.stringContaining(cause)])
  })

  test('transfers.create 504: a slow hook ends with the deadline, without an effect', async () => {
    const requestId = randomUUID()
    expect(
      await addedBy(async () => {
        // A gateway reports a timeout inside its domain service as 502.
        expect([502, 504]).toContain((await outcomeOf(transfer('waits', { requestId })))[0])
        expect(logged(requestId).some(({ hook }) => hook === 'limits')).toBe(true)
        await new Promise((resolve) => setTimeout(resolve, 2_500))
      }),
    ).toEqual(nothing)
  })

  test('transfers.create 422 LIMIT.EXCEEDED: an API key meets the same hook', async () => {
    const body = { apiKeyName: 'Machine', permissionCodes: ['transfer:create'] }
    const created = await portico.call('POST', '/web/v1/consumer/api-keys', { token, workspace, body })
    expect(created.status, created.text).toBe(200)
    const send = (amount: string) =>
      portico.call('POST', '/api/v1/consumer/transfer/command/create', {
        headers: { authorization: `Bearer ${created.body.data.secret}` },
        body: bodyOf('machine', amount),
      })
    expect(await addedBy(async () => expect(await outcomeOf(send('500.01'))).toEqual(refusal))).toEqual(nothing)
    expect(await addedBy(() => send('1.00'))).toEqual(once)
  })

  test('transfers.approve 200: is another operation, which the hook does not see', async () => {
    const asked = await transfer('large', { amount: '450.00' })
    expect(asked.body.data?.transferStatus?.code, asked.text).toBe('PENDING_APPROVAL')
    const added = await addedBy(async () => {
      const path = `/web/v1/system/transfers/${asked.body.data.bizId}/approve`
      const approved = await portico.call('POST', path, { token: operator })
      expect(approved.body.data?.transferStatus?.code, approved.text).toBe('COMPLETED')
    })
    expect(added).toEqual(nothing)
  })

  test('transfers.create 422 WALLET.INSUFFICIENT_FUNDS: the row of the hook is rolled back', async () => {
    let outcome: unknown[] = []
    for (let turn = 0; turn < 30 && outcome[0] !== 422; turn++)
      outcome = await outcomeOf(transfer('drain', { amount: '399.00' }))
    expect(outcome).toEqual([422, 'WALLET.INSUFFICIENT_FUNDS'])
    expect(await addedBy(() => transfer('drain', { amount: '399.00' }))).toEqual(nothing)
  })
})
