import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { chromiumPath, launchChromium, openPage } from './chromium.ts'

const screen = { width: 1280, height: 900 }

async function heightOf(operation: Locator): Promise<number> {
  return (await operation.boundingBox())?.height ?? 0
}

async function signIn(page: Page, email: string): Promise<void> {
  await page.getByRole('combobox', { name: 'Demo account' }).selectOption(email)
  await page.getByRole('button', { name: 'Sign in as demo' }).click()
  await page.getByRole('status').getByText(`Signed in as ${email}`).waitFor()
}

/** Executes an operation without edits and returns its status and body. */
async function execute(page: Page, tag: string, path: string): Promise<{ status: string; body: string }> {
  const section = page.locator(`#operations-tag-${tag}`)
  if ((await section.getAttribute('data-is-open')) !== 'true') await section.click()
  const operation = page.locator('.opblock', { has: page.locator(`[data-path="${path}"]`) }).first()
  await operation.locator('.opblock-summary-control').click()
  await operation.getByText('Try it out').click()
  await operation.locator('.execute').click()
  const response = operation.locator('.live-responses-table .response')
  await response.waitFor()
  const status = await response.locator('.response-col_status').textContent()
  const body = await response.locator('.highlight-code').first().textContent()
  await operation.locator('.opblock-summary-control').click()
  return { status: status?.trim() ?? '', body: body ?? '' }
}

describe('the reference page of a development gateway', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser?.close()
    await portico?.stop()
  })
  const open = async (colorScheme: 'light' | 'dark' = 'light', link = '') => {
    const context = await browser.newContext({ viewport: screen, colorScheme })
    const opened = await openPage(context, `${portico.url}/docs${link}`)
    opened.page.setDefaultTimeout(100_000)
    await opened.page.locator('.opblock-tag').first().waitFor()
    return opened
  }

  test('signs the owner in, lists wallets and makes a transfer, by clicks only', { timeout: 240_000 }, async () => {
    const { page, complaints } = await open()
    await signIn(page, 'owner@demo.test')
    const wallets = await execute(page, 'wallets', '/web/v1/consumer/wallets')
    expect(wallets).toEqual({ status: '200', body: expect.stringContaining('"walletName": "Main USD"') })
    const transfer = await execute(page, 'transfers', '/web/v1/consumer/transfer/command/create')
    expect(transfer).toEqual({ status: '200', body: expect.stringContaining('"code": "COMPLETED"') })
    expect(complaints).toEqual([])
  })

  test('signs an operator in by keyboard', { timeout: 240_000 }, async () => {
    const { page, complaints } = await open('dark')
    await page.getByRole('combobox', { name: 'Demo account' }).selectOption('operator@demo.test')
    await page.getByRole('button', { name: 'Sign in as demo' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText('Signed in as operator@demo.test (SYSTEM) until').waitFor()
    expect((await execute(page, 'operators', '/web/v1/system/accounts')).status).toBe('200')
    expect(complaints).toEqual([])
  })

  test('shows a refused sign-in as text', { timeout: 240_000 }, async () => {
    const { page } = await open()
    const code = 'ACCESS.RATE_LIMITED'
    const refusal = { success: false, code, message: 'too many requests', data: null }
    await page.route('**/auth/login/mfa/send', (route) => route.fulfill({ status: 429, json: refusal }))
    const button = page.getByRole('button', { name: 'Sign in as demo' })
    await button.click()
    await page.getByRole('alert').getByText('Sign-in failed: ACCESS.RATE_LIMITED: too many requests').waitFor()
    await page.unroute('**/auth/login/mfa/send')
    await page.route('**/docs/demo-codes.json', (route) => route.fulfill({ status: 421, json: { status: 'failed' } }))
    await button.click()
    await page.getByRole('alert').getByText('listen.operationsAllowedHosts').waitFor()
    expect(await page.getByRole('status').textContent()).toBe('')
  })

  test.each([
    ['transfers', 'consumer.transfers.create'],
    ['operators', 'system.operators.listAuditLog'],
    ['wallets', 'consumer.wallets.flows'],
  ])(
    'folds headers and refusals, so that one operation fits on a screen: %s %s',
    {
      timeout: 240_000,
    },
    async (tag, id) => {
      const { page, complaints } = await open('light', `#/${tag}/${id}`)
      const operation = page.locator('.opblock.is-open')
      await operation.locator('.responses-table').first().waitFor()
      await expect
        .poll(() => operation.locator('.parameters tr[data-param-in]').count(), { timeout: 30_000 })
        .toBeGreaterThan(3)
      await expect.poll(() => heightOf(operation), { timeout: 30_000 }).toBeLessThanOrEqual(screen.height)
      const requestId = operation.locator('tr[data-param-name="X-Request-Id"]')
      const refusals = operation.locator('.response[data-code^="4"]')
      expect([await requestId.isVisible(), await refusals.count()]).toEqual([false, 0])
      await operation.getByRole('button', { name: /headers with example values/ }).press('Enter')
      await operation.locator('summary', { hasText: 'Refusals: 400, 401' }).press('Enter')
      await requestId.waitFor()
      await refusals.first().waitFor()
      expect(await refusals.count()).toBeGreaterThan(5)
      expect(complaints).toEqual([])
    },
  )
})
