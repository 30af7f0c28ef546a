import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needs } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds

async function openWorkspace({ page }: Visitor): Promise<void> {
  await page.getByRole('link', { name: 'Workspaces', exact: true }).click()
  await page.getByRole('link', { name: 'Demo workspace' }).click()
  await page.getByRole('row', { name: /Savings USD/ }).waitFor()
}

describe('workspaces in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
    const { accessToken: token } = await signIn(world.portico, 'owner@demo.test')
    const transfer = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '12.50', currency: 'USD' }
    const created = await world.portico.call('POST', '/web/v1/consumer/transfer/command/create', {
      token,
      workspace,
      headers: { 'x-request-id': randomUUID() },
      body: transfer,
    })
    expect(created.status, created.text).toBe(200)
  })
  afterAll(() => world?.stop())

  test('an operator freezes a wallet and the workspace, and limits a member', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await openWorkspace(visitor)
    await inspect(visitor, 'console-workspace')

    const savings = page.getByRole('row', { name: /Savings USD/ })
    await savings.getByRole('button', { name: 'Freeze' }).click()
    const dialog = page.getByRole('dialog', { name: 'Freeze' })
    await dialog.getByLabel('Reason').fill('A court order')
    await dialog.getByRole('button', { name: 'Freeze' }).click()
    await visitor.confirm()
    await page.getByText('The wallet is frozen.').waitFor()
    await savings.getByRole('button', { name: 'Unfreeze' }).waitFor()

    // It is not empty, so the gateway refuses. The dialog says so.
    await savings.getByRole('button', { name: 'Close' }).click()
    const closing = page.getByRole('dialog', { name: 'Close' })
    await closing.getByLabel('Reason').fill('Not needed')
    await closing.getByRole('button', { name: 'Close', exact: true }).last().click()
    await closing.getByRole('alert').waitFor()
    await page.keyboard.press('Escape')

    const member = page.getByRole('row', { name: /member@demo\.test/ })
    await member.getByRole('button', { name: 'Limit' }).click()
    const limits = page.getByRole('dialog', { name: 'Limit' })
    await limits.getByLabel('Reads only').check()
    await limits.getByLabel('Reason').fill('On leave')
    await limits.getByRole('button', { name: 'Limit' }).click()
    await member.getByText('Reads only').waitFor()

    await page.getByRole('button', { name: 'Freeze workspace' }).click()
    const freezing = page.getByRole('dialog', { name: 'Freeze workspace' })
    await freezing.getByLabel('Reason').fill('A court order')
    await freezing.getByRole('button', { name: 'Freeze workspace' }).click()
    await page.getByText('The workspace is frozen. Pending orders: 0').waitFor()
    await page.getByRole('button', { name: 'Unfreeze workspace' }).waitFor()
    await inspect(visitor, 'console-workspace-frozen')
    await visitor.context.close()
  })

  test('an auditor follows the orders of a workspace to their postings, and changes nothing', async () => {
    await restrictChecker(world)
    const visitor = await world.signIn('console', auditor)
    const { page } = visitor
    await openWorkspace(visitor)
    for (const button of await page.getByRole('main').getByRole('button').all())
      expect(await button.isDisabled(), (await button.textContent()) ?? '').toBe(true)
    await inspect(visitor, 'console-workspace-auditor')

    await page.getByRole('main').getByRole('link', { name: 'Transfers' }).click()
    await page.getByText('12.50 USD').waitFor()
    await inspect(visitor, 'console-orders-transfers')
    await page
      .getByRole('row', { name: /12\.50 USD/ })
      .getByRole('link')
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: 'Postings' }).waitFor()
    await expect.poll(() => page.getByRole('cell', { name: '12.50' }).count()).toBe(2)
    await inspect(visitor, 'console-postings')

    await page.goto(`${world.url}/console/workspaces/${randomUUID()}`)
    await page.getByText('This workspace does not exist.').waitFor()
    await inspect(visitor, 'console-workspace-unknown')
    await visitor.context.close()
  })
})
