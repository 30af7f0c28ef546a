import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pdf } from '../../harness/multipart.ts'
import { needs } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('recharges in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let operator: string
  beforeAll(async () => {
    world = await startAppWorld()
    operator = (await signIn(world.portico, 'operator@demo.test')).accessToken
  })
  afterAll(() => world?.stop())

  const decide = async (path: string, body: object): Promise<void> => {
    const call = { token: operator, headers: { 'idempotency-key': randomUUID() }, body }
    const { status, text } = await world.portico.call('POST', `/web/v1/system/recharges/${path}`, call)
    expect(status, text).toBe(200)
  }
  const idIn = (url: string): string => new URL(url).pathname.split('/').at(-1) ?? ''

  test('a recharge: fee, payment, proof, and its confirmation without a reload', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await visitor.go('/recharges')
    await page.getByText('Nothing here yet.').waitFor()
    await page.getByRole('link', { name: 'Add funds' }).click()
    await page.getByLabel('Amount').fill('1')
    await page.getByRole('button', { name: 'Show the fee' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Payment method').selectOption('Card (USD)')
    await page.getByText('From 5.00 USD to 5,000.00 USD.').waitFor()
    await page.getByLabel('Amount').fill('100')
    await page.getByRole('button', { name: 'Show the fee' }).click()
    await page.getByText('96.80 USD').waitFor()
    await page.getByLabel('Payment method').selectOption('Bank transfer (USD)')
    expect(await page.getByText('96.80 USD').count()).toBe(0)
    await page.getByRole('button', { name: 'Show the fee' }).click()
    await page.getByRole('button', { name: 'Announce the payment' }).waitFor()
    await inspect(visitor, 'portal-recharges-new')
    await page.getByRole('button', { name: 'Announce the payment' }).click()

    await page.getByRole('heading', { name: 'Pay now' }).waitFor()
    await page.getByText('Pay 100.00 USD by “Bank transfer (USD)”').waitFor()
    await inspect(visitor, 'portal-recharge-pay')
    const buffer = Buffer.from(pdf())
    await page
      .getByLabel('Proof of payment')
      .setInputFiles({ name: 'receipt.pdf', mimeType: 'application/pdf', buffer })
    await page.getByRole('button', { name: 'Submit proof' }).click()
    await page.getByText('An operator checks your payment.').waitFor()
    await inspect(visitor, 'portal-recharge-proof')

    const seen = await page.evaluate(() => performance.timeOrigin)
    await decide(`${idIn(page.url())}/confirm`, { externalReference: 'BANK-1' })
    await page.getByText('100.00 USD was credited to your wallet.').waitFor()
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(seen)
    await inspect(visitor, 'portal-recharge-completed')
    await page.getByRole('link', { name: 'Transfer', exact: true }).click()
    await page.getByText('Available: 10,100.00 USD').waitFor()
    await page.getByLabel('Amount').fill('100')
    await page.getByRole('button', { name: 'Transfer' }).click()
    await page.getByRole('heading', { level: 1, name: /^Transfer TRF/ }).waitFor()
    await visitor.context.close()
  })

  test('a rejected proof shows its reason, and an unpaid recharge is cancelled', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    const announce = async (): Promise<void> => {
      await visitor.go('/recharges/new')
      await page.getByLabel('Amount').fill('50')
      await page.getByRole('button', { name: 'Show the fee' }).click()
      await page.getByRole('button', { name: 'Announce the payment' }).click()
      await page.getByRole('heading', { name: 'Pay now' }).waitFor()
    }
    await announce()
    const script = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from('no document') }
    await page.getByLabel('Proof of payment').setInputFiles(script)
    await page.getByRole('button', { name: 'Submit proof' }).click()
    await page.getByRole('alert').waitFor()
    await page
      .getByLabel('Proof of payment')
      .setInputFiles({ name: 'receipt.pdf', mimeType: 'application/pdf', buffer: Buffer.from(pdf()) })
    await page.getByRole('button', { name: 'Submit proof' }).click()
    await page.getByText('An operator checks your payment.').waitFor()
    await decide(`${idIn(page.url())}/reject`, { reason: 'no such payment' })
    await page.getByText('no such payment').first().waitFor()
    await inspect(visitor, 'portal-recharge-rejected')

    await announce()
    await page.getByRole('button', { name: 'Cancel recharge' }).click()
    await page.getByLabel('Reason').fill('typo in the amount')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel recharge' }).click()
    await page.getByText('typo in the amount').first().waitFor()
    await visitor.context.close()
  })

  test('the events appear in words, and are new until they are seen', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Notifications', exact: true }).first().waitFor()
    const { accessToken: token } = await signIn(world.portico, 'owner@demo.test')
    const body = { walletBizId: '01990000-0000-7000-8000-000000000004', channelCode: 'BANK_USD', amount: '12' }
    const workspace = '01990000-0000-7000-8000-000000000002'
    await visitor.go('/recharges')
    const created = await world.portico.call('POST', '/web/v1/consumer/recharges', { token, workspace, body })
    expect(created.status, created.text).toBe(200)
    await page.getByRole('link', { name: created.body.data.orderNo }).waitFor()
    await page.getByRole('link', { name: 'Notifications, 1 new' }).click()
    await page.getByRole('link', { name: created.body.data.orderNo }).waitFor()
    expect(await page.getByText('New', { exact: true }).count()).toBe(1)
    await expect.poll(() => page.getByRole('link', { name: 'Notifications, 1 new' }).count()).toBe(0)
    await inspect(visitor, 'portal-notifications-new')
    await page.reload()
    await page.getByRole('link', { name: created.body.data.orderNo }).waitFor()
    expect(await page.getByText('New', { exact: true }).count()).toBe(0)
    await visitor.context.close()
  })

  test('a member sees the recharges, and why she cannot make one', async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    const { page } = visitor
    await visitor.go('/recharges')
    await page.getByText('Your role does not have the permission “Make recharges”.').waitFor()
    await inspect(visitor, 'portal-recharges-member')
    await visitor.go('/recharges/new')
    await page.getByText('You do not have the permission for this page.').waitFor()
    await visitor.context.close()
  })
})
