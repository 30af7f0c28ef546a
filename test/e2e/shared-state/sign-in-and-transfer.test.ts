import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { startPortico } from '../../harness/portico.ts'
import { inMode, type PorticoInMode, sessionModes } from '../../harness/session-modes.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'

describe.each(sessionModes)('sign-in, transfer and sign-out, by %s', needsStore(), (mode) => {
  let portico: PorticoInMode
  let session: Session
  const workspace = developmentIds.workspace

  beforeAll(async () => {
    portico = inMode(await startPortico(), mode)
    session = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const get = (path: string) =>
    portico.call('GET', `/web/v1/consumer${path}`, { token: session.accessToken, workspace })

  test('profile.read 200: the account that signed in', async () => {
    const { status, body } = await get('/profile')
    expect(status).toBe(200)
    expect(body).toMatchObject({ success: true, code: '2000', version: '2.0.0' })
    expect(body.data).toMatchObject({
      accountEmail: 'owner@demo.test',
      accountPortal: { code: 'CONSUMER', value: 10010104 },
    })
  })

  test('workspaces.mine 200: the shared workspace, owned and default', async () => {
    const { body } = await get('/workspaces/mine')
    expect(body.data).toHaveLength(1)
    expect(body.data[0]).toMatchObject({ workspaceBizId: workspace, isOwner: true, isDefault: true, enterable: true })
  })

  test('wallets.list 200: the seeded wallets with their balances', async () => {
    const { body } = await get('/wallets')
    expect(body.data.map(({ walletName }: { walletName: string }) => walletName).sort()).toEqual([
      'Main EUR',
      'Main USD',
      'Savings USD',
    ])
    const balance = await get(`/wallets/${developmentIds.mainUsd}/balance`)
    expect(balance.body.data).toMatchObject({ availableBalance: '10000.00', heldBalance: '0.00', currency: 'USD' })
  })

  test('transfers.create 200: funds move, once per request id', async () => {
    const requestId = randomUUID()
    const body = {
      sourceWalletBizId: developmentIds.mainUsd,
      targetWalletBizId: developmentIds.savingsUsd,
      amount: '12.50',
      currency: 'USD',
      remark: 'first transfer',
    }
    const create = (changed: object = {}) =>
      portico.call('POST', '/web/v1/consumer/transfer/command/create', {
        token: session.accessToken,
        workspace,
        headers: { 'x-request-id': requestId },
        body: { ...body, ...changed },
      })
    const first = await create()
    expect(first.status, first.text).toBe(200)
    expect(first.body.data).toMatchObject({ amount: '12.50', feeAmount: '0.00', transferStatus: { code: 'COMPLETED' } })
    const again = await create()
    expect(again.body.data).toEqual(first.body.data)
    const other = await create({ amount: '12.51' })
    expect([other.status, other.body.code]).toEqual([422, 'REQUEST.ID_REUSED'])

    const { body: balance } = await get(`/wallets/${developmentIds.mainUsd}/balance`)
    expect(balance.data.availableBalance).toBe('9987.50')
    const order = await get(`/transfer/query/orders/${first.body.data.bizId}`)
    expect(order.body.data).toEqual(first.body.data)
    const completed = await get(`/transfer/query/orders/${first.body.data.bizId}/completed`)
    expect(completed.body.data).toBe(true)
    const flows = await get(`/wallets/${developmentIds.mainUsd}/flows`)
    expect(flows.body.data.items[0]).toMatchObject({
      amount: '12.50',
      direction: { code: 'OUT' },
      balanceAfter: '9987.50',
    })
  })

  test('auth.refresh 200 and auth.logout 200: the session continues, then ends', async () => {
    const own = await signIn(portico, 'member@demo.test')
    const refreshed = await portico.call('POST', '/web/v1/consumer/auth/token/refresh', {
      body: { refreshToken: own.refreshToken },
    })
    // A session in a cookie has no refresh token.
    expect(refreshed.status, refreshed.text).toBe(mode === 'token' ? 200 : 400)
    const token = mode === 'token' ? refreshed.body.data.accessToken : own.accessToken
    const out = await portico.call('POST', '/web/v1/consumer/auth/logout', { token })
    expect(out.body.data).toEqual({ success: true, terminatedSessions: 1 })
    const after = await portico.call('GET', '/web/v1/consumer/profile', { token })
    expect([after.status, after.body.code]).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })
})
