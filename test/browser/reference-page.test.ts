import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingCatalogue, catalogue } from '../../src/contract/index.ts'
import { createReferencePages } from '../../src/gateway/index.ts'
import { openApiDocument } from '../../src/openapi/index.ts'
import { needs } from '../harness/needs.ts'
import { chromiumPath, launchChromium, openPage } from './chromium.ts'

const described = await openApiDocument(bankingCatalogue, { version: '1.0.0' })

describe('the reference page in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let server: Server
  let url: string
  const tried: Record<string, unknown>[] = []

  beforeAll(async () => {
    const app = express()
    app.use(createReferencePages(async () => described))
    app.use((request, response) => {
      tried.push({ ...request.headers, method: request.method, url: request.url })
      response.json({})
    })
    server = createServer(app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
  })

  // The renderer parses half a megabyte, which takes long on a busy machine.
  test('shows every operation and tries one, within its policy and from its own origin', {
    timeout: 120_000,
  }, async () => {
    const context = await browser.newContext()
    // A page over plain http lacks crypto.randomUUID, except on localhost.
    await context.addInitScript(() => Reflect.deleteProperty(Crypto.prototype, 'randomUUID'))
    const { page, complaints } = await openPage(context, `${url}/docs`)
    page.setDefaultTimeout(60_000)
    await page.locator('.opblock-tag').first().waitFor()
    // The domains, and the requests to webhooks.
    const shown = catalogue.filter(({ protocol }) => protocol === undefined)
    const tags = new Set(shown.map(({ id }) => id.split('.')[0])).size + 1
    expect(await page.locator('.opblock-tag').count()).toBe(tags)
    // Screen readers do not announce nested main elements.
    expect(await page.locator('main').count()).toBe(1)
    await page.locator('#operations-tag-constants').click()
    const countries = page.locator('.opblock', { hasText: '/web/v1/consumer/constants/countries' })
    await countries.locator('.opblock-summary-control').click()
    await countries.getByText('Try it out').click()
    await countries.locator('.execute').click()
    await expect.poll(() => tried.length).toBeGreaterThan(0)
    expect(tried.at(-1)).toMatchObject({
      method: 'GET',
      url: '/web/v1/consumer/constants/countries',
      'x-portal-access-code': 'consumer-dev',
      'x-client-hash': expect.stringMatching(/./),
      'x-locale': 'en',
      'x-request-id': expect.not.stringMatching(/^8f0c3a52/),
    })
    expect(complaints).toEqual([])
  })

  test('is accessible by keyboard and screen reader: named controls, none nested, one dialog', {
    timeout: 120_000,
  }, async () => {
    const { page, complaints } = await openPage(await browser.newContext(), `${url}/docs`)
    page.setDefaultTimeout(60_000)
    await page.locator('#operations-tag-transfers').click()
    const create = page.locator('.opblock', { hasText: '/web/v1/consumer/transfer/command/create' })
    await create.locator('.opblock-summary-control').click()
    await create.getByText('Try it out').click()
    await page.getByRole('combobox', { name: 'Server' }).waitFor()
    await page.getByRole('search').getByRole('textbox', { name: 'Filter by tag or path' }).waitFor()
    await create.getByRole('textbox', { name: 'Request body' }).waitFor()
    expect(await page.locator(':is(select, textarea, input):not([aria-label], [placeholder])').count()).toBe(0)
    expect(await page.locator('button a[href]').count()).toBe(0)
    const levels = await page.getByRole('heading').evaluateAll((all) => all.map((each) => each.ariaLevel))
    expect(levels).toContain('2')
    const opener = page.locator('.auth-wrapper .authorize').first()
    await opener.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Available authorizations' })
    await dialog.waitFor()
    for (let tab = 0; tab < 12; tab++) await page.keyboard.press('Tab')
    expect(await dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => opener.evaluate((element) => element === document.activeElement)).toBe(true)
    expect(await dialog.count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test('has a dark mode with sufficient contrast, and fits 320 pixels', {
    timeout: 120_000,
  }, async () => {
    const context = await browser.newContext({ colorScheme: 'dark', viewport: { width: 320, height: 700 } })
    const { page } = await openPage(context, `${url}/docs`)
    page.setDefaultTimeout(60_000)
    const colour = (selector: string, property: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), property)
    await page.locator('#operations-tag-constants').click()
    await page.locator('.opblock-summary-control').first().click()
    await page.locator('.responses-table').waitFor()
    await page.locator('.response-headers > summary').first().click()
    await page.locator('.header-col').first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    expect(await colour('html', 'background-color')).not.toBe('rgba(0, 0, 0, 0)')
    expect(await colour('.header-col', 'color')).toBe('rgb(213, 219, 219)')
    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(() => colour('.btn.authorize', 'color')).toBe('rgb(11, 110, 69)')
  })
})
