import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { type App, type AppWorld, inspect, startAppWorld } from './world.ts'

/** An account that sees every page. */
const accounts: Record<App, string> = { console: 'operator@demo.test', portal: 'owner@demo.test' }

const Navigation = z.object({ pages: z.array(z.object({ path: z.string() })) })

/** The paths without parameters. Stories in the other files visit the other pages. */
async function pathsOf(app: App): Promise<string[]> {
  const { pages } = Navigation.parse(await import(`../../../apps/${app}/navigation.ts`))
  return pages.map(({ path }) => path).filter((path) => !path.includes(':'))
}

describe('the applications in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
  })
  afterAll(() => world?.stop())

  test.each(['console', 'portal'] as const)('%s: a visitor sees the sign-in page', async (app) => {
    const visitor = await world.visit(app, '/anywhere')
    expect(await visitor.page.getByRole('heading', { level: 1 }).textContent()).toBe('Sign in')
    await inspect(visitor, `${app}-sign-in`)
    await visitor.context.close()
  })

  test.each(['console', 'portal'] as const)(
    '%s: every page is accessible, fits both widths and logs nothing',
    async (app) => {
      const visitor = await world.signIn(app, accounts[app])
      for (const path of await pathsOf(app)) {
        await visitor.page.goto(`${world.url}/${app}${path}`)
        await inspect(visitor, `${app}${path.replaceAll('/', '-')}`)
      }
      await visitor.context.close()
    },
  )

  test.each(['console', 'portal'] as const)(
    '%s: less than 200 kB of compressed script until the first page after a sign-in',
    async (app) => {
      const visitor = await world.signIn(app, accounts[app])
      const { page } = visitor
      await page.reload()
      const part = app === 'console' ? page.locator('.u-wrap').first() : page.getByRole('link', { name: 'Main USD' })
      await part.waitFor()
      const loaded = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name))
      const scripts = loaded.filter((name) => name.endsWith('.js'))
      expect(scripts.length).toBeGreaterThan(3)
      let bytes = 0
      for (const script of scripts) bytes += gzipSync(await (await fetch(script)).text()).length
      expect(bytes).toBeLessThan(200_000)
      await visitor.context.close()
    },
  )

  test.each(['console', 'portal'] as const)('%s: a page that fails leaves the navigation', async (app) => {
    const visitor = await world.signIn(app, accounts[app])
    const { page } = visitor
    await page.route('**/*.js', (route) => route.abort())
    await visitor.go('/security/history')
    await page.getByRole('heading', { level: 1, name: 'This page cannot be shown.' }).waitFor()
    await page.unroute('**/*.js')
    await page.getByRole('navigation').getByRole('link', { name: 'Webhooks' }).click()
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()

    await visitor.go('/nowhere')
    await page.getByRole('link', { name: 'Go to the first page' }).click()
    await page.getByRole('heading', { level: 1, name: app === 'console' ? 'Overview' : 'Wallets' }).waitFor()
    await visitor.context.close()
  })
})
