import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { type Answer, type Call, send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const path = '/web/v1/consumer/transfer/command/create'
const transfer = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '1.00', currency: 'USD' }

describe('Idempotency-Key', needsStore(), () => {
  let portico: Portico
  let token: string
  let turn = 0
  /** Uses the replicas in turn. A repeated request writes no audit entry, so it is not sent by `portico.call`. */
  const call = (method: string, target: string, options?: Call): Promise<Answer> =>
    send(portico.urls[turn++ % portico.urls.length] ?? '', method, target, options)
  const create = (headers: Record<string, string>, body: object = transfer, more: Call = {}) =>
    call('POST', path, { token, workspace, headers: { 'x-request-id': randomUUID(), ...headers }, body, ...more })
  const keyed = (key: string, body?: object) => create({ 'idempotency-key': key }, body)
  const outcome = ({ status, body }: Answer) => [status, body.code]
  const dataOf = async (request: Promise<Answer>) => {
    const { status, text, body } = await request
    expect(status, text).toBe(200)
    return body.data
  }

  beforeAll(async () => {
    portico = await startPortico()
    token = (await signIn(portico)).accessToken
  })
  afterAll(() => portico?.stop())

  test('transfers.create 200: a retry under another X-Request-Id gets the first reply', async () => {
    const key = randomUUID()
    const first = await dataOf(keyed(`"${key}"`))
    for (const form of [`"${key}"`, key, ` ${key} `]) expect(await dataOf(keyed(form))).toEqual(first)
    // As a client does that sends the header since its last release.
    expect(await dataOf(create({ 'x-request-id': key }))).toEqual(first)
  })

  test('transfers.create 200: X-Request-Id is only the name of a request with a key', async () => {
    const name = { 'x-request-id': randomUUID() }
    const [first, second] = [randomUUID(), randomUUID()]
    const one = await dataOf(create({ ...name, 'idempotency-key': first }))
    const two = await dataOf(create({ ...name, 'idempotency-key': second }, { ...transfer, amount: '2.00' }))
    expect(two.bizId).not.toBe(one.bizId)
    expect(await dataOf(create({ 'idempotency-key': first }))).toEqual(one)
  })

  test('transfers.create 422 REQUEST.ID_REUSED: the same key with another body', async () => {
    const key = randomUUID()
    await dataOf(keyed(key))
    const other = await keyed(`"${key}"`, { ...transfer, amount: '2.00' })
    expect(outcome(other)).toEqual([422, 'REQUEST.ID_REUSED'])
    expect(other.headers.get('idempotency-key')).toBe(`"${key}"`)
  })

  test('transfers.create 409 REQUEST.IN_PROGRESS or the first reply: parallel requests take effect once', async () => {
    const key = randomUUID()
    const replies = await Promise.all(Array.from({ length: 8 }, () => keyed(key)))
    const done = await dataOf(keyed(key))
    for (const reply of replies)
      if (reply.status === 200) expect(reply.body.data).toEqual(done)
      else expect(outcome(reply)).toEqual([409, 'REQUEST.IN_PROGRESS'])
  })

  test.each(['""', '"a', 'a b', '"a", "b"', '"a";q=1', 'k'.repeat(256)])(
    'transfers.create 400 VALIDATION.INVALID_PARAMETER: the key %s, and the message names the header',
    async (key) => {
      const refused = await keyed(key)
      expect(outcome(refused)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
      expect(refused.body.message).toContain('idempotency-key')
      expect(refused.headers.has('idempotency-key')).toBe(false)
    },
  )

  test('transfers.create: responses repeat the key, also refusals, and only if the request has one', async () => {
    const key = randomUUID()
    const echo = (reply: Answer) => [reply.status, reply.headers.get('idempotency-key')]
    expect(echo(await keyed(key))).toEqual([200, `"${key}"`])
    expect(echo(await create({}))).toEqual([200, null])
    const anonymous = call('POST', path, { headers: { 'idempotency-key': key }, workspace, body: transfer })
    expect(echo(await anonymous)).toEqual([401, `"${key}"`])
    expect(
      echo(await call('GET', '/web/v1/consumer/wallets', { token, workspace, headers: { 'idempotency-key': key } })),
    ).toEqual([200, null])
  })

  test('transfers.create 400: X-Request-Id is still required on a portal', async () => {
    const headers = { 'x-request-id': null, 'idempotency-key': randomUUID() }
    expect(outcome(await call('POST', path, { token, workspace, headers, body: transfer }))).toEqual([
      400,
      'VALIDATION.INVALID_PARAMETER',
    ])
  })

  test('transfers.create 200: an API key needs only Idempotency-Key', async () => {
    const keys = '/web/v1/consumer/api-keys'
    const permissionCodes = ['transfer:create', 'wallet:read']
    const { secret } = await dataOf(
      portico.call('POST', keys, { token, workspace, body: { apiKeyName: 'Payer', permissionCodes } }),
    )
    const machine = '/api/v1/consumer/transfer/command/create'
    const pay = (headers: Call['headers'] = {}) =>
      call('POST', machine, { token: secret, headers: { 'x-request-id': null, ...headers }, body: transfer })
    expect(outcome(await pay())).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const headers = { 'idempotency-key': randomUUID() }
    const first = await dataOf(pay(headers))
    expect(await dataOf(pay(headers))).toEqual(first)
  })

  test('transfers.create 200: the key of another account is another command', async () => {
    const key = randomUUID()
    const first = await dataOf(keyed(key))
    const other = await signIn(portico, 'member@demo.test')
    const headers = { 'x-request-id': randomUUID(), 'idempotency-key': key }
    const reply = await call('POST', path, { token: other.accessToken, workspace, headers, body: transfer })
    expect([reply.status, reply.body.data?.bizId === first.bizId]).toEqual([200, false])
  })
})
