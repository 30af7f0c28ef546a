import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needs } from '../../harness/needs.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds

describe('find in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Session
  let assistant: Session
  let operator: Visitor

  const consumer = (path: string, body: object, requestId: string = randomUUID()) =>
    send('consumer', owner.accessToken, path, body, requestId)
  const system = (path: string, body: object) => send('system', assistant.accessToken, path, body, randomUUID())
  const send = async (portal: string, token: string, path: string, body: object, id: string) => {
    const call = { token, workspace, body, headers: { 'x-request-id': id } }
    const answer = await world.portico.call('POST', `/web/v1/${portal}${path}`, call)
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }
  const transfer = (more: object = {}, id?: string) => {
    const wallets = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd }
    return consumer('/transfer/command/create', { ...wallets, amount: '10.00', currency: 'USD', ...more }, id)
  }
  const find = async ({ page }: Visitor, text: string): Promise<void> => {
    const field = page.getByRole('search', { name: 'Find', exact: true })
    await field.getByRole('searchbox').fill(text)
    await field.getByRole('button').click()
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe(text)
    await page.getByRole('status').waitFor({ state: 'detached' })
  }

  beforeAll(async () => {
    world = await startAppWorld()
    owner = await signIn(world.portico)
    assistant = await signIn(world.portico, 'checker@demo.test')
    operator = await world.signIn('console', 'operator@demo.test')
  })
  afterAll(() => world?.stop())

  test('a number in the head leads to the order', async () => {
    const { orderNo } = await transfer()
    await find(operator, orderNo)
    await operator.page.getByRole('link', { name: orderNo }).click()
    await operator.page.getByRole('heading', { level: 1, name: orderNo }).waitFor()
  })

  test('a reference finds transfers, recharges and withdrawals', async () => {
    const { orderNo } = await transfer({ clientReference: 'Invoice 47' })
    const order = { walletBizId: mainUsd, channelCode: 'CARD_USD', amount: '20.00' }
    const recharge = await consumer('/recharges', order)
    await system(`/recharges/${recharge.bizId}/confirm`, { externalReference: 'Invoice 47' })
    await find(operator, 'Invoice 47')
    const { page } = operator
    await page.getByRole('link', { name: orderNo }).waitFor()
    await page.getByRole('link', { name: recharge.orderNo }).waitFor()
    expect(await page.getByRole('heading', { level: 2, name: 'Accounts' }).count()).toBe(0)
    await inspect(operator, 'console-find-reference')
  })

  test('an address, a name and ids find accounts, workspaces, orders and the audit log', async () => {
    const { page } = operator
    await find(operator, 'owner@')
    expect(await page.getByRole('link', { name: 'owner@demo.test' }).getAttribute('href')).toMatch(
      /accounts\/[\da-f-]+$/,
    )
    await find(operator, 'demo work')
    expect(await page.getByRole('link', { name: 'Demo workspace' }).getAttribute('href')).toContain(workspace)
    const requestId = randomUUID()
    await transfer({}, requestId)
    await find(operator, requestId)
    const entry = page.getByRole('link', { name: 'transfers.create' })
    expect(await entry.getAttribute('href')).toContain(`/audit?requestId=${requestId}`)
    const recharge = await consumer('/recharges', { walletBizId: mainUsd, channelCode: 'CARD_USD', amount: '30.00' })
    await find(operator, recharge.bizId)
    await page.getByRole('link', { name: recharge.orderNo }).waitFor()
    await inspect(operator, 'console-find-id')
  })

  test('an address of a client finds what came from it in the audit log', async () => {
    const { page } = operator
    const call = { token: owner.accessToken, workspace, headers: { 'cf-connecting-ip': '2001:db8::7' } }
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '10.00', currency: 'USD' }
    await world.portico.call('POST', '/web/v1/consumer/transfer/command/create', { ...call, body })
    await find(operator, '2001:DB8:0::7')
    await page.getByRole('link', { name: 'transfers.create' }).click()
    await page.getByRole('list', { name: 'Entries' }).getByRole('listitem').first().waitFor()
    expect(await page.getByLabel('Client address').inputValue()).toBe('2001:DB8:0::7')
    expect(await page.getByRole('list', { name: 'Entries' }).getByRole('listitem').count()).toBe(1)
    await inspect(operator, 'console-find-address')
  })

  test('a search without a match names the text, and searches only what the permissions allow', async () => {
    await find(operator, 'no-such-thing')
    await operator.page.getByText('Nothing matches no-such-thing.').waitFor()
    await inspect(operator, 'console-find-nothing')
    const { orderNo } = await transfer()
    const { items } = (
      await world.portico.call('GET', '/web/v1/system/operators?accountEmail=operator@demo.test', {
        token: assistant.accessToken,
      })
    ).body.data
    const revoked = { permissionCodes: ['transfer:read', 'audit:read'], reason: 'support only' }
    await system(`/operators/${items[0].bizId}/permissions/revoke`, revoked)
    const { page } = operator
    // The gateway caches rights for a moment.
    const entry = page.getByRole('navigation').getByRole('link', { name: 'Transfers' })
    await expect
      .poll(async () => {
        await page.reload()
        await page.getByRole('heading', { level: 1 }).waitFor()
        return entry.count()
      })
      .toBe(0)
    await find(operator, orderNo)
    await page.getByText(`Nothing matches ${orderNo}.`).waitFor()
    await page.getByText('Transfers (View transfers), Audit log (View audit log)').waitFor()
  })
})
