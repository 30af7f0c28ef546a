import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createOutbox, outboxPage } from '../../src/platform/mail/index.ts'
import { plainValue } from '../../src/platform/mail/plain-values.ts'
import { mailNames, mailTexts } from '../harness/mails.ts'
import { needs } from '../harness/needs.ts'
import { testClock } from '../identity/clock.ts'
import { chromiumPath, launchChromium, openPage } from './chromium.ts'

const hostile =
  '<script>document.title = "run"</script><img src="http://elsewhere.test/x"><form action="//elsewhere.test">'

describe('the development outbox in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterAll(() => browser?.close())

  test('shows hostile and endless names as plain text on a screen of 320 pixels', async () => {
    const outbox = createOutbox(mailTexts, testClock(), 10)
    const url = `https://portal.example.com/invitations?${'t'.repeat(300)}`
    const values = { inviter: hostile, workspace: 'W'.repeat(300), role: 'R', message: hostile, days: '7', url }
    await outbox.send({ to: 'a@b.test', template: 'invitations.workspace-invitation', locale: 'ja', values })
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
    expect(await page.locator('article pre').textContent()).toContain(plainValue(hostile))
    expect(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])).toEqual([320, 320])
    expect(await page.locator('main article pre[lang=ja]').count()).toBe(1)
    expect(complaints).toEqual([])
  })
  test('every mail with an endless link or name fits a screen of 320 pixels, also in dark mode', async () => {
    const [outbox, long] = [createOutbox(mailTexts, testClock(), 100), 'w'.repeat(300)]
    const common = { change: long, time: long, address: long, device: long, decision: long, reason: long }
    const values = {
      ...common,
      code: '012345',
      minutes: '10',
      days: '7',
      until: long,
      url: `https://portal.example.com/#token=${long}`,
    }
    const invitation = { inviter: long, workspace: long, role: long, message: long }
    const notice = { event: long, about: long, actor: long, advice: long, purpose: long }
    const proposal = { proposal: long, status: long, account: long }
    const apiKey = { key: long, operator: long }
    for (const template of mailNames)
      await outbox.send({
        to: 'a@b.test',
        template,
        locale: 'ja',
        values: { ...values, ...invitation, ...notice, ...proposal, ...apiKey },
      })
    const context = await browser.newContext({
      viewport: { width: 320, height: 700 },
      isMobile: true,
      colorScheme: 'dark',
    })
    const page = await context.newPage()
    for (const { html } of outbox.list()) {
      await page.setContent(html)
      expect(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])).toEqual([320, 320])
      expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe('rgb(255, 255, 255)')
      expect(await page.locator('html[lang=ja] div[lang=ja]').count()).toBe(1)
    }
  })
})
