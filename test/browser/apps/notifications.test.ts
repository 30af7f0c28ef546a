import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

const demo = '01990000-0000-7000-8000-000000000002'
const mainUsd = '01990000-0000-7000-8000-000000000004'

describe('notifications in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let token: string
  beforeAll(async () => {
    world = await startAppWorld()
    token = (await signIn(world.portico, 'owner@demo.test')).accessToken
  })
  afterAll(() => world?.stop())

  const post = async (path: string, body: object, workspace?: string) => {
    const call = { token, body, ...(workspace && { workspace }) }
    const answer = await world.portico.call('POST', `/web/v1/consumer/${path}`, call)
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }
  const announce = (amount: string): Promise<{ orderNo: string }> =>
    post('recharges', { walletBizId: mainUsd, channelCode: 'BANK_USD', amount }, demo)

  test('the count is of the chosen workspace, and survives a reload', async () => {
    await post('workspaces', { workspaceName: 'Other' })
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.getByLabel('Workspace').selectOption('Demo workspace')
    await page.getByRole('link', { name: 'Main USD' }).waitFor()
    await expect
      .poll(() => page.evaluate((id) => Object.keys(localStorage).some((key) => key.endsWith(id)), demo))
      .toBe(true)
    await announce('11')
    await announce('12')
    const count = page.getByRole('link', { name: 'Notifications, 2 new' })
    await count.waitFor()
    await page.reload()
    await count.waitFor()
    await page.getByLabel('Workspace').selectOption('Other')
    await page.getByRole('link', { name: 'BHD' }).waitFor()
    await visitor.go('/notifications')
    await page.getByRole('cell', { name: 'Other', exact: true }).waitFor()
    expect(await page.getByText('Recharge', { exact: true }).count()).toBe(0)
    expect(await count.count()).toBe(0)
    await announce('13')
    await page.getByLabel('Workspace').selectOption('Demo workspace')
    await page.getByText('13.00 USD').waitFor()
    await inspect(visitor, 'portal-notifications-two')
    await visitor.context.close()
  })

  test('a page that nobody uses reads nothing, so that its session can end', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.getByLabel('Workspace').selectOption('Demo workspace')
    await page.clock.install()
    await visitor.go('/recharges')
    await page.getByText('13.00 USD').first().waitFor()
    await page.clock.fastForward(301_000)
    const reads: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/consumer/recharges')) reads.push(request.url())
    })
    const { orderNo } = await announce('14')
    await page.getByRole('link', { name: /^Notifications, \d+ new/ }).waitFor()
    await page.clock.runFor(5_000)
    expect(reads).toEqual([])
    await page.mouse.move(400, 400)
    await page.getByRole('link', { name: orderNo }).waitFor()
    expect(reads).toHaveLength(1)
    await visitor.context.close()
  })
})
