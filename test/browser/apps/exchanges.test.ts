import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('exchanges in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      settings.money.exchange.quoteLifeMs = 4_000
    })
  })
  afterAll(() => world?.stop())

  test('a quote counts down, expires, is renewed and accepted', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await visitor.go('/exchanges')
    await page.getByText('Nothing here yet.').waitFor()
    await page.getByRole('link', { name: 'Exchange currencies' }).click()
    await page.getByLabel('You sell').selectOption('USD')
    expect(await page.getByLabel('You get').locator('option').allTextContents()).not.toContain('USD')
    await page.getByLabel('You get').selectOption('EUR')
    await page.getByRole('textbox', { name: 'Amount' }).fill('100')
    await page.getByRole('button', { name: 'Show the rate' }).click()
    await page.getByRole('timer').waitFor()
    await page.getByText('This quote has expired.').waitFor()
    expect(await page.getByRole('button', { name: 'Exchange', exact: true }).count()).toBe(0)
    await inspect(visitor, 'portal-exchanges-expired')
    await page.getByRole('button', { name: 'New quote' }).click()
    await page.getByRole('button', { name: 'Exchange', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: /^Exchange EXC/ }).waitFor()
    await page.getByText('100.00 USD').waitFor()
    await inspect(visitor, 'portal-exchange')

    await visitor.go('/exchanges/new')
    await page.getByLabel('The amount is').selectOption('what you get')
    await page.getByRole('textbox', { name: 'Amount' }).fill('5')
    await page.getByRole('button', { name: 'Show the rate' }).click()
    await page.getByRole('timer').waitFor()
    await page.getByRole('textbox', { name: 'Amount' }).fill('6')
    expect(await page.getByRole('timer').count()).toBe(0)
    await visitor.context.close()
  })

  test('a device with a wrong clock accepts a quote', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.clock.install({ time: Date.now() + 3_600_000 })
    await visitor.go('/exchanges/new')
    await page.getByRole('textbox', { name: 'Amount' }).fill('10')
    await page.getByRole('button', { name: 'Show the rate' }).click()
    await page.getByRole('button', { name: 'Exchange', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: /^Exchange EXC/ }).waitFor()
    await visitor.context.close()
  })

  test('a member sees the exchanges, and why she cannot make one', async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    const { page } = visitor
    await visitor.go('/exchanges')
    await page.getByRole('cell', { name: '100.00 USD' }).waitFor()
    await page.getByText('Your role does not have the permission “Make exchanges”.').waitFor()
    await inspect(visitor, 'portal-exchanges-member')
    await visitor.context.close()
  })
})
