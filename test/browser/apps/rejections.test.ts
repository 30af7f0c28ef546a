import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { pdf } from '../../harness/multipart.ts'
import { needs } from '../../harness/needs.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { pathOf } from './people.ts'
import { done } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

describe('rejections, from the operator to the customer', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let customer: Visitor
  let operator: Visitor
  beforeAll(async () => {
    world = await startAppWorld()
    customer = await world.signIn('portal', 'owner@demo.test')
    operator = await world.signIn('console', 'operator@demo.test')
  })
  afterAll(() => world?.stop())

  /** Opens the only waiting item of a queue. */
  async function openOnly({ page }: Visitor, queue: 'recharges' | 'withdrawals', orderNo: string): Promise<void> {
    await page.goto(pathOf(world, 'console', `/queues/${queue}`))
    await page.getByRole('link', { name: orderNo }).click()
    await page.getByRole('heading', { level: 1, name: orderNo }).waitFor()
  }

  async function reject(visitor: Visitor, orderNo: string, reason: string): Promise<void> {
    const { page } = visitor
    await page.getByRole('radio', { name: 'Reject' }).check()
    // A reason of blanks is refused.
    await page.getByLabel('Reason').fill('  ')
    await page.getByRole('button', { name: 'Reject', exact: true }).click()
    const code = page.locator('.dialog input[name=code]')
    const refused = page.locator('textarea[aria-invalid=true]')
    await code.or(refused).first().waitFor()
    if (await code.isVisible()) await visitor.confirm()
    await refused.waitFor()
    await page.getByLabel('Reason').fill(reason)
    await inspect(visitor, `console-reject-${orderNo.slice(0, 3).toLowerCase()}`)
    await page.getByRole('button', { name: 'Reject', exact: true }).click()
    await done(visitor, `${orderNo} is rejected.`)
    await page.getByText('This item needs no decision.').waitFor()
  }

  /** The last word of the title. */
  async function orderNoOf({ page }: Visitor): Promise<string> {
    const heading = page.getByRole('heading', { level: 1, name: /\d/ })
    await heading.waitFor()
    return (await heading.textContent())?.split(' ').at(-1) ?? ''
  }

  test('a recharge: the operator reads the proof and rejects it, and the customer sees why without a reload', async () => {
    const { page } = customer
    await customer.go('/recharges/new')
    await page.getByLabel('Amount').fill('75')
    await page.getByRole('button', { name: 'Show the fee' }).click()
    await page.getByRole('button', { name: 'Announce the payment' }).click()
    const proof = Buffer.from(pdf())
    const file = { name: 'receipt.pdf', mimeType: 'application/pdf', buffer: proof }
    await page.getByLabel('Proof of payment').setInputFiles(file)
    await page.getByRole('button', { name: 'Submit proof' }).click()
    await page.getByText('An operator checks your payment.').waitFor()
    const orderNo = await orderNoOf(customer)

    await openOnly(operator, 'recharges', orderNo)
    const [download] = await Promise.all([
      operator.page.waitForEvent('download'),
      operator.page.getByRole('link', { name: 'Download' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('receipt.pdf')
    expect(await readFile(await download.path())).toEqual(proof)
    const since = await page.evaluate(() => performance.timeOrigin)
    await reject(operator, orderNo, 'The bank knows no such payment')
    await operator.page.getByRole('cell', { name: 'The bank knows no such payment' }).waitFor()
    await inspect(operator, 'console-rejected-recharge')

    await page.getByText('Your payment was not confirmed. Nothing was credited to your wallet.').waitFor()
    await page.getByText('The bank knows no such payment').first().waitFor()
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(since)
    await inspect(customer, 'portal-rejected-recharge')
    await customer.go('/notifications')
    await page.getByText(orderNo).first().waitFor()
    await inspect(customer, 'portal-rejected-notifications')
  })

  test('a payout: the operator rejects it, and the customer sees why and has the amount again', async () => {
    const { accessToken: token } = await signIn(world.portico)
    const { workspace } = developmentIds
    const call = { token, workspace, body: payoutAccount() }
    const created = await world.portico.call('POST', '/web/v1/consumer/withdrawal-channels', call)
    expect(created.status, created.text).toBe(200)
    await operator.page.goto(pathOf(world, 'console', `/queues/payout-accounts/${created.body.data.bizId}`))
    await operator.page.getByRole('radio', { name: 'Verify' }).check()
    await operator.page.getByRole('button', { name: 'Verify', exact: true }).click()
    await done(operator, 'The payout account is verified.')

    const { page } = customer
    await customer.go('/withdrawals/new')
    await page.getByText('Available: 10,000.00 USD').waitFor()
    await page.getByLabel('Amount').fill('250')
    await page.getByRole('button', { name: 'Request payout' }).click()
    await done(customer, 'An operator checks this payout. Its amount is held until then.')
    const orderNo = await orderNoOf(customer)
    const since = await page.evaluate(() => performance.timeOrigin)

    await openOnly(operator, 'withdrawals', orderNo)
    await reject(operator, orderNo, 'The invoice is missing')
    await inspect(operator, 'console-rejected-withdrawal')
    await page.getByText('The payout was rejected. 250.00 USD is in your wallet again.').waitFor()
    await page.getByText('The invoice is missing').first().waitFor()
    expect(await page.evaluate(() => performance.timeOrigin)).toBe(since)
    await inspect(customer, 'portal-rejected-withdrawal')
    await customer.go('/withdrawals/new')
    await page.getByText('Available: 10,000.00 USD').waitFor()
  })
})
