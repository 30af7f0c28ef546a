import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { randomIban } from '../../harness/payout-account.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('withdrawals in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let operator: string
  let checker: string
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      settings.money.stepUpAbove = { currency: 'USD', amount: '100', apiKeys: 'refuse' }
    })
    operator = (await signIn(world.portico, 'operator@demo.test')).accessToken
    checker = (await signIn(world.portico, 'checker@demo.test')).accessToken
  })
  afterAll(() => world?.stop())

  const decide = async (token: string, path: string, body?: object): Promise<void> => {
    const call = { token, headers: { 'idempotency-key': randomUUID() }, body }
    const answer = await world.portico.call('POST', `/web/v1/system/${path}`, call)
    expect(answer.status, answer.text).toBe(200)
  }
  const idIn = (url: string): string => new URL(url).pathname.split('/').at(-1) ?? ''

  test('a payout: account, verification, request, payment and return, without a reload', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await visitor.go('/withdrawals/new')
    await page.getByText('No verified payout account').waitFor()
    await inspect(visitor, 'portal-withdrawals-no-account')
    await page.getByRole('link', { name: 'Register an account' }).click()
    await page.getByLabel('Type').selectOption('Crypto address')
    await page.getByLabel('Network').waitFor()
    await page.getByLabel('Type').selectOption('Bank account')
    await page.getByLabel('Country').selectOption('Germany')
    await page.getByLabel('Account holder').fill('Ada Lovelace')
    await page.getByLabel('Account number or IBAN').fill('DE00 1234')
    await page.getByLabel('Bank code (BIC)').fill('COBADEFF')
    await page.getByRole('button', { name: 'Register an account' }).click()
    await visitor.confirm()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Account number or IBAN').getAttribute('aria-invalid')).toBe('true')
    await inspect(visitor, 'portal-withdrawals-accounts-refused')
    await page.getByLabel('Account number or IBAN').fill(randomIban())
    await page.getByRole('button', { name: 'Register an account' }).click()
    await page.getByText('Pending verification').waitFor()

    const { accessToken: token } = await signIn(world.portico, 'owner@demo.test')
    const workspace = '01990000-0000-7000-8000-000000000002'
    const list = await world.portico.call('GET', '/web/v1/consumer/withdrawal-channels', { token, workspace })
    await decide(operator, `withdrawal-channels/${list.body.data[0].bizId}/verify`)
    await page.getByText('Active', { exact: true }).waitFor()
    await inspect(visitor, 'portal-withdrawals-accounts')

    await visitor.go('/withdrawals/new')
    await page.getByLabel('Amount').fill('500')
    await page.getByRole('button', { name: 'Request payout' }).click()
    await page.getByText('An operator checks this payout.').waitFor()
    await inspect(visitor, 'portal-withdrawal-pending')
    const path = `withdrawals/${idIn(page.url())}`
    // Not the operator who verified the account. The other one pays.
    await decide(checker, `${path}/approve`)
    await page.getByText('on its way to your account').waitFor()
    await decide(operator, `${path}/complete`, { externalReference: 'PAYOUT-1' })
    await page.getByText('PAYOUT-1').waitFor()
    await decide(checker, `${path}/return`, { reason: 'account closed' })
    await page.getByText('500.00 USD is in your wallet again.').waitFor()
    await inspect(visitor, 'portal-withdrawal-returned')
    await page.getByRole('link', { name: 'Main USD' }).click()
    await page.getByText('10,000.00 USD').first().waitFor()
    await visitor.context.close()
  })

  test('an unapproved payout is cancelled, and found by its state', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await visitor.go('/withdrawals/new')
    await page.getByLabel('Amount').fill('150')
    await page.getByRole('button', { name: 'Request payout' }).click()
    await visitor.confirm()
    await page.getByRole('button', { name: 'Cancel payout' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel payout' }).click()
    await page.getByText('The payout is cancelled.').waitFor()
    await visitor.go('/withdrawals?status=CANCELLED')
    await page.getByRole('cell', { name: '150.00 USD', exact: true }).waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await visitor.context.close()
  })

  test('a suspended account asks for a confirmation', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.route('**/withdrawal-channels', async (route) => {
      const headers = { ...route.request().headers(), 'sec-fetch-site': 'same-origin' }
      const response = await route.fetch({ headers })
      const text = await response.text()
      const body = text.replaceAll('"code":"ACTIVE"', '"code":"SUSPENDED"')
      await route.fulfill({ status: 200, contentType: 'application/json', body })
    })
    await visitor.go('/payout-accounts')
    await page.getByRole('button', { name: 'Confirm account' }).click()
    const dialog = page.locator('.dialog')
    await dialog.getByText('This account is suspended').waitFor()
    await inspect(visitor, 'portal-withdrawals-suspended')
    await dialog.getByRole('button', { name: 'Confirm account' }).click()
    await visitor.confirm()
    // The gateway knows that the account is active.
    await dialog.getByRole('alert').waitFor()
    await visitor.context.close()
  })

  test('a member sees the payouts and accounts, and why she can do neither', async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    const { page } = visitor
    await visitor.go('/withdrawals')
    await page.getByText('Your role does not have the permission “Make withdrawals”.').waitFor()
    await inspect(visitor, 'portal-withdrawals-member')
    await visitor.go('/payout-accounts')
    await page.getByText('Your role does not have the permission “Manage payout accounts”.').waitFor()
    await visitor.context.close()
  })
})
