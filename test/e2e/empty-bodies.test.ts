import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { outsideTables, webChain } from '../contract/interface.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const unknownId = '01990000-0000-7000-8000-00000000dead'

/** Commands with required fields, each with the response that the interface states for the body `{}`. */
const rows = [...webChain, ...outsideTables].filter(
  ({ method, path, observed }) =>
    method === 'POST' &&
    // The row of this operation shows no body.
    !path.endsWith('/otp/revoke') &&
    observed.some((code) => code === 'VALIDATION.INVALID_PARAMETER' || code === 'RESOURCE.NOT_FOUND'),
)

describe('`{}` with a valid token', () => {
  let portico: Portico
  let session: Session
  beforeAll(async () => {
    portico = await startPortico()
    session = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const send = (path: string) =>
    portico.call('POST', path.replaceAll(/\{\w+\}/g, unknownId), {
      token: session.accessToken,
      workspace: developmentIds.workspace,
      body: {},
    })

  test('the interface states a response for many rows', () => expect(rows.length).toBeGreaterThan(20))

  test.each(rows)('$method $path: responds as the row says', async ({ path, observed }) => {
    const { status, body } = await send(path)
    // An unknown id is reported after missing fields.
    const expected = path.includes('{') ? ['VALIDATION.INVALID_PARAMETER', 'RESOURCE.NOT_FOUND'] : observed
    expect([400, 404]).toContain(status)
    expect(expected).toContain(body.code)
  })

  test('workspaces.update 200: `{}` returns the workspace unchanged', async () => {
    const chain = '/web/v1/consumer/workspaces/current'
    const before = await portico.call('GET', chain, { token: session.accessToken, workspace: developmentIds.workspace })
    const { status, body } = await send(`${chain}/update`)
    expect([status, body.data]).toEqual([200, before.body.data])
  })

  test('recharges.cancel 200: an empty cancelReason is valid, a missing one is not', async () => {
    const wallets = await portico.call('GET', '/web/v1/consumer/wallets', {
      token: session.accessToken,
      workspace: developmentIds.workspace,
    })
    const walletBizId = wallets.body.data.find(({ currency }: { currency: string }) => currency === 'USD').bizId
    const call = (path: string, body: object) =>
      portico.call('POST', `/web/v1/consumer/recharges${path}`, {
        token: session.accessToken,
        workspace: developmentIds.workspace,
        body,
      })
    const { bizId } = (await call('', { walletBizId, channelCode: 'BANK_USD', amount: '10.00' })).body.data
    expect((await call(`/${bizId}/cancel`, {})).body.code).toBe('VALIDATION.INVALID_PARAMETER')
    const cancelled = await call(`/${bizId}/cancel`, { cancelReason: '' })
    expect([cancelled.status, cancelled.body.data.cancelReason]).toEqual([200, ''])
  })

  test('400 VALIDATION.INVALID_PARAMETER: a body in the channel that is not `{payload}`', async () => {
    const channel = { 'x-secure-channel-session-id': 'none' }
    const post = (body: unknown) =>
      portico.call('POST', '/web/v1/consumer/auth/login/initiate', { headers: channel, body })
    for (const body of [{}, { payload: 1 }, { payload: 'a.b.c.d.e', more: 1 }, { email: 'a@b.test', password: 'x' }])
      expect((await post(body)).body.code, JSON.stringify(body)).toBe('VALIDATION.INVALID_PARAMETER')
    expect((await post({ payload: 'a.b.c.d.e' })).body.code).toBe('SECURE_CHANNEL.INVALID_PAYLOAD')
  })
})
