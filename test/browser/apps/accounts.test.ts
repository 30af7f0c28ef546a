import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

async function openAccount({ page }: Visitor, email: string): Promise<void> {
  await page.getByRole('link', { name: email }).click()
  await page.getByRole('heading', { level: 1, name: email }).waitFor()
}

describe('accounts in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
  })
  afterAll(() => world?.stop())

  test('an operator finds, suspends and reactivates an account', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Accounts' }).click()
    await page.getByRole('link', { name: 'member@demo.test' }).waitFor()
    await inspect(visitor, 'console-accounts-list')

    await page.getByLabel('Email').fill('member@')
    await page.getByLabel('Portal').selectOption('CONSUMER')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => page.url()).toContain('?portal=CONSUMER&email=member%40')
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export these rows' }).click()
    expect((await download).suggestedFilename()).toBe('accounts.csv')

    await openAccount(visitor, 'member@demo.test')
    await inspect(visitor, 'console-account')
    await page.getByRole('button', { name: 'Suspend' }).click()
    const dialog = page.getByRole('dialog', { name: 'Suspend' })
    await dialog.getByLabel('Reason').fill('Reported as stolen')
    await inspect(visitor, 'console-account-suspend')
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await visitor.confirm()
    await page.getByText('The account is suspended.').waitFor()
    await expect.poll(() => dialog.count()).toBe(0)

    // The step-up is recent enough for the next command.
    await page.getByRole('button', { name: 'Reactivate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reactivate' }).click()
    await page.getByText('The account is active again.').waitFor()
    await page.getByRole('button', { name: 'Suspend' }).waitFor()

    await page.getByRole('button', { name: 'End sessions' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End sessions' }).click()
    await page.getByText('Ended sessions: 0').waitFor()

    await page.getByRole('button', { name: 'Request a factor reset' }).click()
    const reset = page.getByRole('dialog', { name: 'Request a factor reset' })
    await reset.getByLabel('Reason').fill('Showed the passport at the counter')
    await reset.getByRole('button', { name: 'Request a factor reset' }).click()
    // The member has no second factor.
    await reset.getByRole('alert').waitFor()
    await visitor.context.close()
  })

  test('nobody decides on their own account', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Accounts' }).click()
    await openAccount(visitor, 'operator@demo.test')
    expect(await page.getByRole('button', { name: 'Suspend' }).isDisabled()).toBe(true)
    expect(await page.getByText('This is your own account.').count()).toBe(2)
    await inspect(visitor, 'console-account-own')
    await visitor.context.close()
  })

  test('an auditor sees which permissions are missing', async () => {
    await restrictChecker(world)
    const visitor = await world.signIn('console', auditor)
    const { page } = visitor
    await page.getByRole('link', { name: 'Accounts' }).click()
    await openAccount(visitor, 'member@demo.test')
    expect(await page.getByRole('button', { name: 'Suspend' }).isDisabled()).toBe(true)
    expect(await page.getByText('You need the permission “Suspend accounts”.').count()).toBe(1)
    await inspect(visitor, 'console-account-auditor')
    await visitor.context.close()
  })
})
