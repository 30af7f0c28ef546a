import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client, HttpExchange } from '../../src/client/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

describe('the typed client', () => {
  let portico: Portico
  let client: Client<'CONSUMER'>
  const seen: HttpExchange[] = []
  const workspaceId = developmentIds.workspace

  beforeAll(async () => {
    portico = await startPortico()
    client = clientOf(portico, 'CONSUMER', { onExchange: (exchange) => seen.push(exchange) })
    await signInAs(portico, client, 'owner@demo.test')
  })
  afterAll(() => portico?.stop())

  test('signs in through the secure channel', async () => {
    const sealed = seen.filter((exchange) => exchange.sealed).map(({ operationId }) => operationId)
    expect(sealed).toEqual(['auth.loginInitiate', 'auth.mfaSend', 'auth.loginComplete', 'mfa.stepUp'])
    expect((await client.readProfile()).accountEmail).toBe('owner@demo.test')
  })

  test('reads through the channel on request, with and without a body', async () => {
    const sealed = await client.listWallets({ workspaceId, seal: true })
    expect(sealed).toEqual(await client.listWallets({ workspaceId }))
    expect(seen.filter(({ operationId }) => operationId === 'secureChannel.open')).toHaveLength(1)
  })

  test('reopens a channel that the gateway has closed', async () => {
    const other = clientOf(portico, 'CONSUMER', { clientHash: await client.clientHash(), seal: 'all' })
    await other.session.adopt({ ...(await tokensOf(client)), expiresIn: 900 })
    expect(await other.listMyWorkspaces()).toHaveLength(1)
    await other.close()
    expect(await other.listMyWorkspaces()).toHaveLength(1)
  })

  test('moves money once per request id', async () => {
    const body = {
      sourceWalletBizId: developmentIds.mainUsd,
      targetWalletBizId: developmentIds.savingsUsd,
      amount: '3.25',
      currency: 'USD',
    }
    const requestId = crypto.randomUUID()
    const created = await client.createTransfer({ body, workspaceId, requestId })
    const again = await client.createTransfer({ body, workspaceId, requestId, seal: true })
    expect(again).toEqual(created)
    const other = client.createTransfer({ body: { ...body, amount: '3.26' }, workspaceId, requestId })
    await expect(other).rejects.toMatchObject({ status: 422, code: 'REQUEST.ID_REUSED', requestId })
    expect(await client.isTransferCompleted({ params: { order_id: created.bizId }, workspaceId })).toBe(true)
  })

  test('renews its tokens and continues', async () => {
    const before = await tokensOf(client)
    const [one, two] = await Promise.all([client.session.renew(before), client.session.renew(before)])
    expect(one).toEqual(two)
    expect(one?.accessToken).not.toBe(before.accessToken)
    expect((await client.readProfile()).accountEmail).toBe('owner@demo.test')
  })

  test('distinguishes refusals by code', async () => {
    const params = { wallet_id: developmentIds.workspace }
    await expect(client.readWallet({ params, workspaceId })).rejects.toMatchObject({ code: 'RESOURCE.NOT_FOUND' })
    await expect(clientOf(portico, 'CONSUMER').listWallets()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_MISSING' })
    const stranger = clientOf(portico, 'CONSUMER', { accessCode: 'system-dev' })
    await expect(stranger.listCountries()).rejects.toMatchObject({ status: 403, code: 'ACCESS.PORTAL_MISMATCH' })
  })

  test("receives messages in the caller's language", async () => {
    const japanese = clientOf(portico, 'CONSUMER', { locale: 'ja' })
    const error = await japanese.listWallets().catch((thrown: unknown) => thrown)
    expect(error).toHaveProperty('message', expect.not.stringMatching(/authentication/))
  })

  test('serves operators, too', async () => {
    const operator = clientOf(portico, 'SYSTEM')
    await signInAs(portico, operator, 'operator@demo.test')
    expect((await operator.readProfile()).accountPortal.code).toBe('SYSTEM')
    await operator.signOut()
    await operator.close()
  })

  test('signs out', async () => {
    const tokens = await tokensOf(client)
    await client.signOut()
    await client.session.adopt({ ...tokens, expiresIn: 900 })
    await expect(client.readProfile()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
    expect(await client.session.tokens()).toBeNull()
  })
})

async function tokensOf(client: Client<'CONSUMER'>) {
  const tokens = await client.session.tokens()
  if (!tokens) throw new Error('nobody is signed in')
  return tokens
}
