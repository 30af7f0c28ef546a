import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect, vi } from 'vitest'
import { type Options, type Portico, startPortico } from '../../harness/portico.ts'
import { freePort } from '../../harness/postgres.ts'
import { root, type WholeSettings } from '../../harness/settings.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { launchChromium, openPage, type WatchedPage } from '../chromium.ts'

export type App = 'console' | 'portal'

/** A person at a page of an application. */
export interface Visitor extends WatchedPage {
  context: BrowserContext
  /** Goes to a path of the application without a load, as a link does. */
  go(path: string): Promise<void>
  /** Enters the newest mailed code into the dialog that asks for it. */
  confirm(template?: 'step-up-code' | 'login-code'): Promise<void>
}

export interface AppWorld {
  portico: Portico
  url: string
  /** Signs in by the form. The default accounts are the seeded ones. */
  signIn(app: App, email: string, password?: string): Promise<Visitor>
  visit(app: App, path?: string): Promise<Visitor>
  stop(): Promise<void>
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const screens = join(root, 'build/screens')
const password = 'Portico-demo-2026'

/** A gateway with both applications, by default on the embedded store, and Chromium. */
export async function startAppWorld(
  adjust: (settings: WholeSettings) => void = () => undefined,
  options: Pick<Options, 'prepare' | 'variables'> = {},
): Promise<AppWorld> {
  const port = await freePort()
  const url = `http://localhost:${port}`
  const portico = await startPortico({
    ...options,
    adjust: (settings) => {
      settings.listen.port = port
      settings.publicUrl = url
      settings.portals.CONSUMER.app = { accessCode: 'consumer-dev' }
      settings.portals.SYSTEM.app = { accessCode: 'system-dev' }
      adjust(settings)
    },
  })
  const browser: Browser = await launchChromium()

  const used = new Set<string>()
  /** The newest mail. The one of an earlier step-up can still be the newest for a moment. */
  const newMail = async (address: string, template: 'step-up-code' | 'login-code'): Promise<string> => {
    let text = ''
    const isNew = async (): Promise<boolean> => {
      text = (await portico.mailTo(address, template)).text
      return !used.has(text)
    }
    // Also in hooks, where polls are not allowed.
    await vi.waitUntil(isNew, { timeout: 60_000 })
    used.add(text)
    return text
  }

  const visit = async (app: App, path = '/'): Promise<Visitor> => {
    const context = await browser.newContext({ locale: 'en-US', timezoneId: 'Europe/Berlin' })
    context.setDefaultTimeout(60_000)
    const opened = await openPage(context, `${url}/${app}${path}`)
    return {
      ...opened,
      context,
      go: async (to) => {
        await opened.page.evaluate((target) => {
          history.pushState(null, '', target)
        }, `/${app}${to}`)
      },
      confirm: async (template = 'step-up-code') => {
        // Another dialog may wait for the step-up.
        const dialog = opened.page.getByRole('dialog', { name: /^(Enter your code|Confirm it is you)$/ })
        await dialog.waitFor()
        const shown = await dialog.textContent()
        await dialog.getByRole('textbox').fill(codeIn(await newMail(addressIn(opened.page), template)))
        await dialog.getByRole('button', { name: /confirm/i }).click()
        expect(shown).not.toBe('')
      },
    }
  }

  const addresses = new WeakMap<Page, string>()
  const addressIn = (page: Page): string => addresses.get(page) ?? ''

  return {
    portico,
    url,
    visit,
    signIn: async (app, email, secret = password) => {
      const visitor = await visit(app)
      addresses.set(visitor.page, email)
      // A test may also sign in without a browser.
      for (const { text } of await portico.mailsTo(email)) used.add(text)
      await visitor.page.getByLabel('Email').fill(email)
      await visitor.page.getByLabel('Password').fill(secret)
      await visitor.page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await visitor.confirm('login-code')
      await visitor.page.getByRole('navigation').waitFor({ state: 'attached' })
      return visitor
    },
    stop: async () => {
      await browser.close()
      await portico.stop()
    },
  }
}

/**
 * Expects no finding of axe, no message in the console, no violation of the policy and no page that is wider than the
 * screen. Writes pictures at two widths to build/screens, for a person to look at.
 */
export async function inspect({ page, complaints }: Visitor, name: string): Promise<void> {
  mkdirSync(screens, { recursive: true })
  // Behind a dialog, it has no role.
  await page.locator('h1').first().waitFor()
  await expect.poll(() => page.locator('.loading').count()).toBe(0)
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height })
    await page.screenshot({ path: join(screens, `${name}-${width}.png`), fullPage: true, animations: 'disabled' })
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    )
    expect(overflow, `${name} is wider than ${width} pixels`).toBeLessThanOrEqual(0)
    expect(await findingsOf(page), name).toEqual([])
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  expect(complaints, name).toEqual([])
}

interface Finding {
  id: string
  nodes: { html: string }[]
}

async function findingsOf(page: Page): Promise<string[]> {
  // The driver's scripts are exempt from the content security policy.
  const violations = await page.evaluate<Finding[]>(
    `(() => { ${axe}; return axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations) })()`,
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}
