import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('transfers in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  /** In another workspace. */
  let outside: string
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      settings.money.transferApprovalFrom = { USD: '1000' }
      settings.money.transferFee = { USD: '0.50' }
      settings.money.stepUpAbove = { currency: 'USD', amount: '100', apiKeys: 'refuse' }
    })
    const { accessToken: token } = await signIn(world.portico, 'owner@demo.test')
    const body = { workspaceName: 'Supplier' }
    const { data } = (await world.portico.call('POST', '/web/v1/consumer/workspaces', { token, body })).body
    const wallets = await world.portico.call('GET', '/web/v1/consumer/wallets', { token, workspace: data.bizId })
    outside = wallets.body.data.find(({ currency }: { currency: string }) => currency === 'USD').bizId
  })
  afterAll(() => world?.stop())

  test('a member transfers with a step-up, and sees it on both wallets', async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Main USD' }).click()
    await page.getByRole('link', { name: 'Transfer', exact: true }).click()
    await inspect(visitor, 'portal-transfers-new')
    expect(await page.getByText('Available: 10,000.00 USD').isVisible()).toBe(true)
    await page.getByLabel('To wallet').selectOption('Another wallet…')
    await page.getByLabel('ID of the receiving wallet').fill(outside)
    await page.getByLabel('Amount').fill('250.5')
    await page.getByLabel('Your reference').fill('INV-1')
    await page.getByRole('button', { name: 'Transfer' }).click()
    await visitor.confirm()
    await page.getByRole('heading', { level: 1, name: /^Transfer TRF/ }).waitFor()
    await page.getByText('250.50 USD').waitFor()
    await inspect(visitor, 'portal-transfer')

    await page.getByRole('link', { name: 'Main USD' }).click()
    await page.getByRole('cell', { name: '−250.50' }).waitFor()
    await page.getByRole('cell', { name: '−0.50', exact: true }).waitFor()
    await inspect(visitor, 'portal-wallet')
    await page.getByLabel('Direction').selectOption('In')
    await expect.poll(() => page.getByRole('cell', { name: '−250.50' }).count()).toBe(0)
    expect(new URL(page.url()).search).toBe('?direction=IN')
    await page.getByLabel('Until').fill('2020-01-01')
    await page.getByLabel('From', { exact: true }).focus()
    await page.getByText('No flows match.').waitFor()
    await page.reload()
    await page.getByText('No flows match.').waitFor()
    expect(await page.getByLabel('Until').inputValue()).toBe('2020-01-01')
    await visitor.context.close()
  })

  test('a transfer above the threshold waits for approval, and its sender cancels it', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await visitor.go('/transfers/new')
    await page.getByLabel('To wallet').selectOption('Another wallet…')
    await page.getByLabel('ID of the receiving wallet').fill(outside)
    await page.getByLabel('Amount').fill('1000')
    await page.getByRole('button', { name: 'Transfer' }).click()
    await visitor.confirm()
    await page.getByText('An operator checks this transfer.').waitFor()
    await inspect(visitor, 'portal-transfer-pending')
    await page.getByRole('button', { name: 'Cancel transfer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel transfer' }).click()
    await page.getByText('The transfer is cancelled.').waitFor()
    await expect.poll(() => page.getByText('An operator checks this transfer.').count()).toBe(0)

    await visitor.go('/transfers?status=CANCELLED')
    await page.getByRole('cell', { name: '1,000.00 USD' }).waitFor()
    expect(await page.getByLabel('Status').inputValue()).toBe('CANCELLED')
    await page.getByLabel('Status').selectOption('Failed')
    await page.getByText('No transfers match.').waitFor()
    await page.reload()
    await page.getByText('No transfers match.').waitFor()
    await inspect(visitor, 'portal-transfers-none')
    await visitor.context.close()
  })

  test('a refusal is shown at its field, or above the button', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await visitor.go('/transfers/new')
    await page.getByLabel('Amount').fill('1,5')
    await page.getByRole('button', { name: 'Transfer' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Amount').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('Amount').fill('999999')
    await page.getByRole('button', { name: 'Transfer' }).click()
    await page.getByRole('alert').getByText('funds').waitFor()
    await inspect(visitor, 'portal-transfers-refused')
    await visitor.context.close()
  })
})
