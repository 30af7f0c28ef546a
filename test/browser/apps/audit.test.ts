import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('the audit log in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
    await restrictChecker(world, (permission) => permission === 'audit:read')
  })
  afterAll(() => world?.stop())

  test('an auditor filters the log, opens an entry, exports and verifies', async () => {
    const visitor = await world.signIn('console', auditor)
    const { page } = visitor
    await page.getByRole('link', { name: 'Audit log', exact: true }).click()
    await page.getByLabel('Action').fill('proposals.revokePermissions')
    await page.getByRole('button', { name: 'Filter' }).click()
    const entries = page.getByRole('list', { name: 'Entries' }).getByRole('listitem')
    await expect.poll(() => entries.count()).toBe(1)
    expect(page.url()).toContain('action=proposals.revokePermissions')
    await entries.first().locator('summary').click()
    await entries.first().getByText('Change of duties').waitFor()
    await inspect(visitor, 'console-audit-entry')

    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export these rows' }).click()
    expect((await download).suggestedFilename()).toBe('audit-log.csv')

    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('Intact').waitFor()
    const head = await page.getByRole('status').locator('code').textContent()
    await page.getByLabel('Noted head').fill(head ?? '')
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('The log still has it.').waitFor()
    await page.getByLabel('Noted head').fill(`1:${'0'.repeat(64)}`)
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('The log has another entry with this number.').waitFor()
    await page.getByText('Broken').waitFor()
    await inspect(visitor, 'console-audit-verified')

    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect.poll(() => entries.count()).toBeGreaterThan(1)
    expect(new URL(page.url()).search).toBe('')
    await visitor.context.close()
  })

  test('an operator without the permission neither sees nor reaches it', async () => {
    await restrictChecker(world, (permission) => permission === 'account:read')
    const visitor = await world.signIn('console', auditor)
    expect(await visitor.page.getByRole('link', { name: 'Audit log', exact: true }).count()).toBe(0)
    await visitor.page.goto(`${world.url}/console/audit`)
    await visitor.page.getByText('You do not have the permission for this page.').waitFor()
    await inspect(visitor, 'console-audit-refused')
    await visitor.context.close()
  })
})
