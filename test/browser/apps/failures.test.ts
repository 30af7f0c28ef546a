import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { root } from '../../harness/settings.ts'
import { chromiumPath } from '../chromium.ts'
import { button, done, open } from './workspace-people.ts'
import { type AppWorld, startAppWorld, type Visitor } from './world.ts'

describe('data that must not stay', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Visitor
  beforeAll(async () => {
    world = await startAppWorld()
    owner = await world.signIn('portal', 'owner@demo.test')
  })
  afterAll(() => world?.stop())

  test('a choice of another workspace removes the form and the secret of the previous one', async () => {
    const { page } = owner
    await open(owner, '/workspaces/new', 'Create a workspace')
    await page.getByLabel('Name').fill('Second workspace')
    await button(owner, 'Create a workspace').click()
    await expect.poll(() => page.getByLabel('Workspace', { exact: true }).locator('option').count()).toBe(2)
    await page.getByLabel('Workspace', { exact: true }).selectOption({ label: 'Demo workspace' })
    await open(owner, '/webhooks/new', 'Create a webhook')
    await page.getByLabel('URL').fill('https://hooks.example.com/demo')
    await button(owner, 'Create a webhook').click()
    await done(owner, 'The webhook has been created.')
    await page.getByLabel('Signing secret').waitFor()
    await page.getByLabel('Workspace', { exact: true }).selectOption({ label: 'Second workspace' })
    await page.getByLabel('URL').waitFor()
    expect(await page.getByLabel('Signing secret').count()).toBe(0)
  })

  test('an export that never ends does not keep the session of an absent user alive', async () => {
    const { page } = owner
    // The example of the documentation, still at work.
    const examples = JSON.parse(readFileSync(join(root, 'docs/examples.json'), 'utf8'))
    const { reply } = examples.operations['exports.list']
    const exportStatus = { code: 'RUNNING', value: 10660102, label: 'Running', description: '' }
    reply.data.items = reply.data.items.map((item: object) => ({ ...item, exportStatus }))
    await page.route(/\/consumer\/exports\?/, (route) => route.fulfill({ json: reply }))
    let asked = 0
    page.on('request', (request) => {
      if (request.url().includes('/consumer/exports?')) asked += 1
    })
    await open(owner, '/exports', 'Exports')
    await page.clock.install()
    await page.reload()
    await page.getByText('Running').first().waitFor({ timeout: 20_000 })
    const countWhile = async (ms: number): Promise<number> => {
      const before = asked
      await page.clock.runFor(ms)
      await page.evaluate('fetch(location.href)')
      return asked - before
    }
    expect(await countWhile(10_000)).toBeGreaterThan(0)
    await page.clock.fastForward(301_000)
    expect(await countWhile(10_000)).toBe(0)
  })

  test.each(['console', 'portal'])('%s: names the licenses of all packages in its scripts', async (app) => {
    const text = await (await fetch(`${world.url}/${app}/licenses.txt`)).text()
    for (const name of ['react', 'regexparam']) expect(text).toContain(`${name}\n\n`)
  })
})
