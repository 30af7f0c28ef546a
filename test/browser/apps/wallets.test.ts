import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('wallets in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
  })
  afterAll(() => world?.stop())

  test('an owner opens a wallet in another currency', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.getByRole('button', { name: 'Open a wallet' }).click()
    const dialog = page.getByRole('dialog')
    await inspect(visitor, 'portal-wallets-open')
    await dialog.getByLabel('Currency').fill('xyz')
    await dialog.getByRole('button', { name: 'Open a wallet' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Currency').fill('jpy')
    await dialog.getByLabel('Name').fill('Travel')
    await dialog.getByRole('button', { name: 'Open a wallet' }).click()
    await page.getByRole('link', { name: 'Travel' }).click()
    await page.getByRole('heading', { level: 1, name: 'Travel (JPY)' }).waitFor()
    await page.getByText('No flows match.').waitFor()
    await inspect(visitor, 'portal-wallet-empty')
    await visitor.context.close()
  })

  test('a member sees the wallets, and why she cannot open one', async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    const { page } = visitor
    await page.getByText('Your role does not have the permission “Open wallets”.').waitFor()
    expect(await page.getByRole('button', { name: 'Open a wallet' }).count()).toBe(0)
    await inspect(visitor, 'portal-wallets-member')
    await visitor.context.close()
  })

  test('the pages show the chosen workspace, also after a reload', async () => {
    const { accessToken: token } = await signIn(world.portico, 'owner@demo.test')
    const created = await world.portico.call('POST', '/web/v1/consumer/workspaces', {
      token,
      body: { workspaceName: 'Second workspace with a long name', workspaceTimezone: 'Asia/Tokyo' },
    })
    expect(created.status, created.text).toBe(200)
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Main USD' }).waitFor()
    await page.getByLabel('Workspace').selectOption('Second workspace with a long name')
    await page.getByRole('link', { name: 'BHD' }).waitFor()
    expect(await page.getByRole('link', { name: 'Main USD' }).count()).toBe(0)
    await page.reload()
    await page.getByRole('link', { name: 'BHD' }).click()
    await page.getByText('0.000 BHD').first().waitFor()
    await inspect(visitor, 'portal-wallet-second')
    await visitor.context.close()
  })

  test.each(['ja', 'vi', 'zh-Hant'])('the money pages in %s, in the dark', async (locale) => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    const { page } = visitor
    await page.evaluate((code) => {
      localStorage.setItem('portico.locale', code)
      localStorage.setItem('portico.theme', 'dark')
    }, locale)
    const paths = ['wallets/01990000-0000-7000-8000-000000000004', 'transfers', 'transfers/new', 'payout-accounts']
    for (const path of [...paths, 'notifications']) {
      await page.goto(`${world.url}/portal/${path}`)
      await inspect(visitor, `portal-${locale}-${path.replaceAll('/', '-')}`)
      // A key without a text is shown as it is.
      expect(await page.locator('main').textContent()).not.toMatch(/\b(wallets|orders|transfers|notifications)\.\w/)
    }
    await visitor.context.close()
  })
})
