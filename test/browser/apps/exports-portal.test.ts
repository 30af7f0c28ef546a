import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { heading } from './people.ts'
import { button, done, open } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

describe('exports in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Visitor
  beforeAll(async () => {
    world = await startAppWorld()
    owner = await world.signIn('portal', 'owner@demo.test')
  })
  afterAll(() => world?.stop())

  test('a list is exported with its filters, and each download uses another one-time link', async () => {
    await open(owner, '/exports', 'Exports')
    await owner.page.getByRole('link', { name: 'Export a list' }).click()
    await heading(owner, 'Export a list')
    await owner.page.getByLabel('Wallet', { exact: true }).selectOption({ label: 'Main USD (USD)' })
    await owner.page.getByLabel('Direction').selectOption('IN')
    await owner.page.getByLabel('From').fill('2020-01-01T00:00')
    await inspect(owner, 'portal-new-export')
    await button(owner, 'Export a list').click()
    await done(owner, 'The export is being prepared.')
    await heading(owner, 'Exports')
    const download = owner.page.getByRole('button', { name: /^Download/ })
    await download.waitFor({ timeout: 60_000 })
    await inspect(owner, 'portal-exports-completed')
    for (let times = 0; times < 2; times++) {
      const [file] = await Promise.all([owner.page.waitForEvent('download'), download.click()])
      const text = await readFile(await file.path(), 'utf8')
      expect(text.trim().split('\n')).toHaveLength(2)
      expect(text).toContain('10000.00')
    }
  })

  test.each(['Transfers', 'Exchanges', 'Recharges', 'Withdrawals', 'My sign-ins'])(
    '%s: the gateway accepts the filters of the form',
    async (list) => {
      await open(owner, '/exports/new', 'Export a list')
      await owner.page.getByLabel('List', { exact: true }).selectOption({ label: list })
      await owner.page.getByLabel('To', { exact: true }).fill('2099-12-31T23:59')
      const status = owner.page.getByLabel('Status', { exact: true })
      if ((await status.count()) > 0) await status.selectOption('COMPLETED')
      await button(owner, 'Export a list').click()
      await heading(owner, 'Exports')
      await owner.page.getByRole('row').nth(1).waitFor()
      expect(owner.complaints).toEqual([])
    },
  )

  test('a member who may not create exports sees why, and the list', async () => {
    const member = await world.signIn('portal', 'member@demo.test')
    await open(member, '/exports', 'Exports')
    await member.page.getByText('Your role does not have the permission “Create exports”.').waitFor()
    expect(await member.page.getByRole('link', { name: 'Export a list' }).count()).toBe(0)
    await inspect(member, 'portal-exports-member')
    await open(member, '/exports/new', 'You do not have the permission for this page.')
    await member.context.close()
  })
})
