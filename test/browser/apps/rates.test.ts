import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

async function openRates({ page }: Visitor): Promise<void> {
  await page.getByRole('link', { name: 'Exchange rates', exact: true }).click()
  await page.getByRole('table', { name: 'Exchange rates' }).waitFor()
}

describe('exchange rates in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
  })
  afterAll(() => world?.stop())

  test('one operator sets a rate, another one confirms it, an auditor only looks', async () => {
    const setter = await world.signIn('console', 'operator@demo.test')
    await openRates(setter)
    const set = async (): Promise<void> => {
      await setter.page.getByRole('button', { name: 'Set a rate' }).click()
      const dialog = setter.page.getByRole('dialog', { name: 'Set a rate' })
      await dialog.getByLabel('Source currency').fill('usd')
      await dialog.getByLabel('Target currency').fill('eur')
      await dialog.getByLabel('Rate').fill('3.25')
      await dialog.getByRole('button', { name: 'Set a rate' }).click()
    }
    await set()
    await setter.confirm()
    await setter.page.getByText('The rate waits for a second operator.').waitFor()
    await setter.page.getByRole('button', { name: 'Discard' }).click()
    await setter.page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
    await setter.page.getByText('The proposed rate is discarded.').waitFor()
    await expect.poll(() => setter.page.getByRole('button', { name: 'Confirm rate' }).count()).toBe(0)
    await set()
    await setter.page.getByText('You set this rate.').waitFor()
    expect(await setter.page.getByRole('button', { name: 'Confirm rate' }).isDisabled()).toBe(true)
    await inspect(setter, 'console-rates-pending')

    const confirmer = await world.signIn('console', auditor)
    const { page } = confirmer
    await openRates(confirmer)
    await page.getByRole('button', { name: 'Confirm rate' }).click()
    await page.getByRole('dialog').getByText('3.25').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Confirm rate' }).click()
    await confirmer.confirm()
    await page.getByText('The rate is confirmed.').waitFor()
    const row = page.getByRole('row', { name: /USD → EUR/ })
    await row.getByText('3.25').waitFor()
    await inspect(confirmer, 'console-rates-confirmed')

    await restrictChecker(world)
    await page.goto(`${world.url}/console/rates`)
    await row.waitFor()
    expect(await page.getByRole('button', { name: 'Set a rate' }).isDisabled()).toBe(true)
    expect(await row.getByRole('button', { name: 'Remove' }).isDisabled()).toBe(true)
    await inspect(confirmer, 'console-rates-auditor')
    await confirmer.context.close()

    // Neither of both can remove it within a day.
    await setter.page.reload()
    await setter.page
      .getByRole('row', { name: /USD → EUR/ })
      .getByRole('button', { name: 'Remove' })
      .click()
    const removing = setter.page.getByRole('dialog', { name: 'Remove' })
    await removing.getByText('You set or confirmed this rate.').waitFor()
    await removing.getByRole('button', { name: 'Remove' }).click()
    await removing.getByRole('alert').waitFor()
    await setter.context.close()
  })
})
