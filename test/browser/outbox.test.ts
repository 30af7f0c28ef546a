import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOutbox, outboxPage, readMailTexts } from '../../src/platform/mail/index.ts'
import { testClock } from '../identity/clock.ts'
import { chromiumPath, launchChromium, openPage } from './chromium.ts'

const hostile =
  '<script>document.title = "run"</script><img src="http://elsewhere.test/x"><form action="//elsewhere.test">'

describe.skipIf(chromiumPath === null)('the development outbox in Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterAll(() => browser?.close())

  test('shows hostile and endless names as the text that they are, on a screen of 320 pixels', async () => {
    const outbox = createOutbox(await readMailTexts('config/mail'), testClock(), 10)
    const url = `https://portal.example.com/invitations?${'t'.repeat(300)}`
    const values = { inviter: hostile, workspace: 'W'.repeat(300), role: 'R', message: hostile, days: '7', url }
    await outbox.send({ to: 'a@b.test', template: 'workspace-invitation', locale: 'ja', values })
    const { html, policy } = outboxPage(outbox)
    const context = await browser.newContext({ viewport: { width: 320, height: 700 }, isMobile: true })
    const headers = { 'content-security-policy': policy }
    const body = await html()
    await context.route('http://outbox.test/mail', (route) =>
      route.fulfill({ contentType: 'text/html; charset=utf-8', headers, body }),
    )
    const { page, complaints } = await openPage(context, 'http://outbox.test/mail')
    expect(await page.title()).toBe('Outbox')
    expect(await page.locator('script, img, form').count()).toBe(0)
    expect(await page.locator('article pre').textContent()).toContain(hostile)
    expect(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])).toEqual([320, 320])
    expect(await page.locator('main article pre[lang=ja]').count()).toBe(1)
    expect(complaints).toEqual([])
  })
})
