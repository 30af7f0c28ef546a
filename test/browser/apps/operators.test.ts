import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('operators in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
  })
  afterAll(() => world?.stop())

  test('an operator revokes a permission and proposes it again', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Operators', exact: true }).click()
    await page.getByRole('link', { name: auditor }).waitFor()
    await inspect(visitor, 'console-operators-list')
    await page.getByRole('link', { name: auditor }).click()
    await page.getByRole('heading', { level: 3, name: 'Money' }).waitFor()
    // Every permission has a name.
    expect(
      await page
        .getByRole('listitem')
        .filter({ hasText: /^[a-z-]+:[a-z-]+$/ })
        .count(),
    ).toBe(0)

    await page.getByRole('button', { name: 'Revoke permissions' }).click()
    const revoking = page.getByRole('dialog', { name: 'Revoke permissions' })
    await revoking.getByLabel('View audit log').check()
    await revoking.getByLabel('Reason').fill('Another team audits')
    await revoking.getByRole('button', { name: 'Revoke permissions' }).click()
    await visitor.confirm()
    await page.getByText('The permissions are revoked.').waitFor()
    await expect.poll(() => page.getByRole('listitem').filter({ hasText: 'View audit log' }).count()).toBe(0)

    await page.getByRole('button', { name: 'Propose permissions' }).click()
    const proposing = page.getByRole('dialog', { name: 'Propose permissions' })
    await proposing.getByLabel('View audit log').check()
    await proposing.getByLabel('Reason').fill('They audit again')
    await inspect(visitor, 'console-operator-propose')
    await proposing.getByRole('button', { name: 'Propose permissions' }).click()
    await page.getByText('The proposal waits for another operator.').waitFor()
    await inspect(visitor, 'console-operator')

    // Both pages read the operator.
    await page.getByRole('navigation').getByRole('link', { name: 'Proposals', exact: true }).click()
    await page.getByRole('main').getByRole('table').getByRole('link').first().click()
    await page.getByRole('heading', { level: 2, name: 'Decision' }).waitFor()

    await page.getByRole('link', { name: 'Operators', exact: true }).click()
    await page.getByRole('link', { name: 'operator@demo.test' }).click()
    await page.getByText('This is your own account.').first().waitFor()
    expect(await page.getByRole('button', { name: 'Propose permissions' }).isDisabled()).toBe(true)

    await page.getByRole('link', { name: 'Operators', exact: true }).click()
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const inviting = page.getByRole('dialog', { name: 'Invite a person' })
    await inviting.getByLabel('Id of the identity provider').fill('nowhere')
    await inviting.getByLabel('Email').fill('new@demo.test')
    await inviting.getByRole('button', { name: 'Invite a person' }).click()
    // The deployment has no such provider.
    await inviting.getByRole('alert').waitFor()
    await visitor.context.close()
  })

  test('an auditor reads permissions and changes none', async () => {
    await restrictChecker(world)
    const visitor = await world.signIn('console', auditor)
    const { page } = visitor
    await page.getByRole('link', { name: 'Operators', exact: true }).click()
    expect(await page.getByRole('button', { name: 'Invite a person' }).isDisabled()).toBe(true)
    await page.getByRole('link', { name: 'operator@demo.test' }).click()
    await page.getByText('You need the permission “Manage operators”.').first().waitFor()
    await inspect(visitor, 'console-operator-auditor')
    await visitor.context.close()
  })
})
