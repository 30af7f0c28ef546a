import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { expect } from 'vitest'

const candidates = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Null if Chromium is not installed, which skips the suite. */
export const chromiumPath: string | null = candidates.find((path) => existsSync(path)) ?? null

/**
 * Runs without the sandbox, which root in a container cannot use. `keepsPages` enables the back/forward cache, which
 * the driver disables. `hosts` are patterns of names that are on this machine.
 */
export function launchChromium({ keepsPages = false, hosts = [] as readonly string[] } = {}): Promise<Browser> {
  if (chromiumPath === null) throw new Error('no Chromium on this machine')
  const ignoreDefaultArgs = keepsPages ? ['--disable-back-forward-cache'] : []
  const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(',')
  const args = ['--no-sandbox', ...(rules ? [`--host-resolver-rules=${rules}`] : [])]
  return chromium.launch({ executablePath: chromiumPath, args, ignoreDefaultArgs })
}

export async function bundleClient(): Promise<string> {
  const bundle = await rolldown({ input: fileURLToPath(new URL('app.ts', import.meta.url)), platform: 'browser' })
  const { output } = await bundle.generate({ format: 'iife' })
  await bundle.close()
  return output[0].code
}

/** Includes violations of the content security policy. */
export interface WatchedPage {
  page: Page
  complaints: string[]
}

export async function openPage(context: BrowserContext, url: string): Promise<WatchedPage> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of \d/.test(message.text())) complaints.push(message.text())
  })
  page.on('request', (request) => {
    // The viewer of PDF is a part of the browser.
    const { origin, protocol } = new URL(request.url())
    if (origin !== new URL(url).origin && !/^chrome(-extension)?:$/.test(protocol))
      complaints.push(`foreign request ${request.url()}`)
  })
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      // biome-ignore lint/suspicious/noConsole: this watches the page's console
      console.error(`policy violated: ${violatedDirective} ${blockedURI}`),
    )
  })
  await page.goto(url)
  return { page, complaints }
}

function localItems(): string {
  return JSON.stringify(Object.entries(localStorage).sort())
}

/** Browsers send localStorage writes to other processes with a delay that clients cannot detect. */
export async function storageArrived(from: Page, ...tabs: Page[]): Promise<void> {
  const written = await from.evaluate(localItems)
  for (const tab of tabs) await expect.poll(() => tab.evaluate(localItems)).toBe(written)
}

const policy = "default-src 'none'; script-src 'self'; connect-src 'self'"
const html = '<!doctype html><meta charset="utf-8"><title>app</title><script src="/app.js"></script>'

/** Uses a strict content security policy. */
export async function hostApp(context: BrowserContext, origin: string, script: string): Promise<string> {
  const headers = { 'content-security-policy': policy }
  await context.route(`${origin}/app`, (route) => route.fulfill({ contentType: 'text/html', headers, body: html }))
  await context.route(`${origin}/app.js`, (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
  return `${origin}/app`
}
