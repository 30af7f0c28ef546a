import { afterEach, describe, expect, test, vi } from 'vitest'
import { begun, completed, consumer, order, sent, transfer, wallet } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, scriptedGateway } from '../scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const auth = 'POST /web/v1/consumer/auth'
const wallets = 'GET /web/v1/consumer/wallets'
const security = '/web/v1/consumer/security'
const create = 'POST /web/v1/consumer/transfer/command/create'
const login = {
  [`${auth}/login/initiate`]: ok(begun),
  [`${auth}/login/mfa/send`]: ok(sent),
  [`${auth}/login/complete`]: ok(completed),
}
const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026', code: () => '123456' }
const workspaceId = '01933b6e-7c1a-7e0a-8f35-00000000000c'

describe('with', () => {
  test('changes the language and the workspace, and keeps the sign-in', async () => {
    gateway = await scriptedGateway({ ...login, [wallets]: ok([wallet]), [`GET ${security}/mfa`]: ok([]) })
    const client = consumer(gateway.baseUrl)
    await client.signIn(credentials)
    const view = client.with({ locale: 'ja', workspaceId })
    await view.listWallets()
    await view.listMfaMethods()
    await client.listWallets()
    const [japanese, own, plain] = gateway.seen.slice(-3).map(({ headers }) => headers)
    expect(japanese).toMatchObject({ 'x-locale': 'ja', 'x-workspace-id': workspaceId })
    expect([own?.['x-locale'], own?.['x-workspace-id']]).toEqual(['ja', undefined])
    expect([plain?.['x-locale'], plain?.['x-workspace-id']]).toEqual(['en', undefined])
    expect(new Set([japanese, own, plain].map((headers) => headers?.authorization)).size).toBe(1)
    expect(new Set([japanese, own, plain].map((headers) => headers?.['x-client-hash'])).size).toBe(1)
  })

  test('a sign-out of one view signs out the others', async () => {
    gateway = await scriptedGateway({ ...login, [`${auth}/logout`]: ok({ success: true, terminatedSessions: 1 }) })
    const client = consumer(gateway.baseUrl)
    await client.signIn(credentials)
    const view = client.with({ locale: 'vi' })
    await client.signOut()
    expect(await view.session.tokens()).toBeNull()
  })
})

describe('onStepUp', () => {
  const method = { code: 'EMAIL', value: 10011001, label: 'E-mail', description: '' }
  const steps = {
    ...login,
    [`GET ${security}/mfa`]: ok([{ mfaMethod: method, isEnabled: true, isPrimary: true, verifiedAt: null }]),
    [`POST ${security}/step-up/send`]: ok(sent),
    [`POST ${security}/step-up`]: [
      refuse(401, 'AUTH.CODE_INVALID'),
      ok({ success: true, expiresIn: 300 }),
      refuse(401, 'AUTH.CODE_INVALID'),
    ],
  }
  const demand = refuse(403, 'ACCESS.STEP_UP_REQUIRED')

  test('sends the purpose, asks again after a wrong code, and repeats the command with its id', async () => {
    gateway = await scriptedGateway({ ...steps, [create]: [demand, ok(order)] })
    const code = vi.fn(async () => '123456')
    const client = consumer(gateway.baseUrl, { onStepUp: { code, attempts: 2 } })
    await client.signIn(credentials)
    await client.createTransfer({ workspaceId, body: transfer })
    const purpose = { operationId: 'transfers.create', workspaceBizId: workspaceId, ...transfer }
    expect(gateway.to('/step-up/send').map(({ body }) => body)).toEqual([{ mfaMethod: 'EMAIL', purpose }])
    expect(gateway.to('/step-up').map(({ body }) => body)).toEqual([
      { mfaMethod: 'EMAIL', code: '123456', purpose },
      { mfaMethod: 'EMAIL', code: '123456', purpose },
    ])
    expect(code.mock.calls).toHaveLength(2)
    expect(new Set(gateway.to('/create').map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  })

  test('sends what was confirmed, in the language of the view, even if the page changes the body meanwhile', async () => {
    gateway = await scriptedGateway({
      ...steps,
      [`POST ${security}/step-up`]: ok({ success: true, expiresIn: 300 }),
      [create]: [demand, ok(order)],
    })
    const body = { ...transfer }
    const code = () => {
      body.amount = '999999.00'
      return '123456'
    }
    const client = consumer(gateway.baseUrl, { onStepUp: { code } }).with({ locale: 'ja', workspaceId })
    await client.signIn(credentials)
    await client.createTransfer({ body })
    expect(gateway.to('/create').map((seen) => seen.body)).toEqual([transfer, transfer])
    expect(new Set(gateway.seen.map(({ headers }) => headers['x-locale']))).toEqual(new Set(['ja']))
  })

  test('a call that is refused again, and one whose code the user does not enter, rejects', async () => {
    gateway = await scriptedGateway({
      ...steps,
      [`POST ${security}/step-up`]: ok({ success: true, expiresIn: 300 }),
      [create]: demand,
    })
    const client = consumer(gateway.baseUrl, { onStepUp: { code: () => '123456' } })
    await client.signIn(credentials)
    await expect(client.createTransfer({ workspaceId, body: transfer })).rejects.toHaveProperty(
      'code',
      'ACCESS.STEP_UP_REQUIRED',
    )
    expect(gateway.to('/create')).toHaveLength(2)
    const cancelled = new Error('cancelled')
    const other = consumer(gateway.baseUrl, { onStepUp: { code: () => Promise.reject(cancelled) } })
    await other.signIn(credentials)
    await expect(other.createTransfer({ workspaceId, body: transfer })).rejects.toBe(cancelled)
  })
})

test('transfers.list without arguments asks for the first page', async () => {
  const page = {
    items: [],
    pagination: {
      totalPages: 0,
      totalRecords: 0,
      currentPage: 1,
      pageSize: 20,
      hasNext: false,
      empty: true,
      paginated: true,
    },
  }
  gateway = await scriptedGateway({ ...login, 'GET /web/v1/consumer/transfer/query/list': ok(page) })
  const client = consumer(gateway.baseUrl)
  await client.signIn(credentials)
  await client.listTransfers({ workspaceId }).catch(() => undefined)
  expect(gateway.seen.at(-1)?.path).toMatch(/\?currentPage=1$/)
})
