import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { heading } from './people.ts'
import {
  challengeOf,
  report,
  type SiteVerify,
  script,
  serveTurnstile,
  startSiteVerify,
  takeForeign,
  tokenOf,
} from './turnstile.ts'
import { type App, type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

describe('the CAPTCHA in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let service: SiteVerify
  beforeAll(async () => {
    service = await startSiteVerify()
    world = await startAppWorld(service.configure)
  })
  afterAll(async () => {
    await world?.stop()
    await service?.stop()
  })

  const open = async (app: App, path: string, title: string): Promise<Visitor> => {
    const visitor = await world.visit(app)
    await heading(visitor, 'Sign in')
    expect(visitor.complaints).toEqual([])
    await serveTurnstile(visitor.context)
    await visitor.go(path)
    await heading(visitor, title)
    return visitor
  }

  const solve = async (visitor: Visitor): Promise<string> => {
    const frame = await challengeOf(visitor)
    const token = await tokenOf(frame)
    // On a busy machine, a new widget can lose the first click.
    await vi.waitFor(
      async () => {
        await frame.getByRole('button').click({ timeout: 5_000 })
        await visitor.page.getByText('The check is complete.').waitFor({ timeout: 5_000 })
      },
      { timeout: 60_000 },
    )
    return token
  }

  /** The tokens that the gateway had verified since the call before. */
  const verified = (): (string | undefined)[] => service.forms.splice(0).map(({ response }) => response)

  test('a visitor registers by the keyboard, with a new check for another code', async () => {
    const email = 'grace@captcha.test'
    const visitor = await open('portal', '/register', 'Create an account')
    const { page } = visitor
    const frame = await challengeOf(visitor)
    expect(takeForeign(visitor)).toEqual([script, frame.url()])
    await page.getByText('Complete the check if it asks you to.').waitFor()
    await inspect(visitor, 'portal-register-captcha')
    await page.getByLabel('Email').fill(email)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('The check is complete.').waitFor()
    await page.keyboard.press('Tab')
    const token = await tokenOf(frame)
    await page.keyboard.press('Enter')
    await page.getByLabel(/Code that we sent to/).waitFor()
    expect(service.forms.splice(0)).toEqual([expect.objectContaining({ secret: 'the-secret', response: token })])

    const second = await solve(visitor)
    takeForeign(visitor)
    await inspect(visitor, 'portal-register-code-captcha')
    await page.getByRole('button', { name: 'Send a new code' }).click()
    await page.getByText('We sent a new code.').waitFor()
    expect(second).not.toBe(token)
    expect(verified()).toEqual([second])
    await expect.poll(() => world.portico.mailsTo(email).then((mails) => mails.length)).toBe(2)
    const [mail] = await world.portico.mailsTo(email)
    await page.getByLabel(/Code that we sent to/).fill(codeIn(mail?.text ?? ''))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Name').waitFor()
    await visitor.context.close()
  })

  test.each(['portal', 'console'] as const)('a forgotten password at the %s: only with a check', async (app) => {
    const visitor = await open(app, '/forgot-password', 'Forgot your password?')
    const { page } = visitor
    await challengeOf(visitor)
    await page.getByLabel('Email').fill('owner@demo.test')
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByText('The check against robots is not complete.').waitFor()
    takeForeign(visitor)
    await inspect(visitor, `${app}-captcha-incomplete`)
    expect(verified()).toEqual([])
    const token = await solve(visitor)
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByLabel('Email').waitFor({ state: 'detached' })
    await page.locator('p.notice').waitFor()
    expect(verified()).toEqual([token])
    await visitor.context.close()
  })

  test('a token that the gateway refuses, or that expires in the page, is replaced by a new one', async () => {
    const visitor = await open('portal', '/forgot-password', 'Forgot your password?')
    const { page } = visitor
    const submit = () => page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByLabel('Email').fill('owner@demo.test')
    const refused = await solve(visitor)
    service.expire(refused)
    await submit()
    await page.getByText('The check has expired. A new one has started.').waitFor()
    expect(await page.getByText('turnstileToken').count()).toBe(0)
    const frame = await challengeOf(visitor)
    await expect.poll(() => tokenOf(frame)).not.toBe(refused)
    takeForeign(visitor)
    await inspect(visitor, 'portal-captcha-refused')
    const expired = await solve(visitor)
    await report(frame, 'expired-callback')
    await page.getByText('Complete the check if it asks you to.').waitFor()
    await submit()
    await page.getByText('The check against robots is not complete.').waitFor()
    await expect.poll(() => tokenOf(frame)).not.toBe(expired)
    expect(verified()).toEqual([refused])
    const accepted = await solve(visitor)
    await submit()
    await page.locator('p.notice').waitFor()
    expect(verified()).toEqual([accepted])
    await visitor.context.close()
  })

  test('a blocked script is explained in each language, and can be tried again', async () => {
    const visitor = await world.visit('portal')
    const { page, context, complaints } = visitor
    await context.route('https://challenges.cloudflare.com/**', (route) => route.abort('blockedbyclient'))
    const sentences = new Set<string>()
    for (const locale of ['zh', 'zh-Hant', 'ja', 'vi', 'en']) {
      await page.evaluate((chosen) => localStorage.setItem('portico.locale', chosen), locale)
      await page.goto(`${world.url}/portal/forgot-password`)
      const alert = page.getByRole('alert')
      await alert.getByText('challenges.cloudflare.com').waitFor()
      sentences.add((await alert.textContent()) ?? '')
    }
    expect(sentences.size).toBe(5)
    complaints.length = 0
    await inspect(visitor, 'portal-captcha-blocked')
    await context.unrouteAll()
    await serveTurnstile(context)
    await page.getByRole('button', { name: 'Try again' }).click()
    const frame = await challengeOf(visitor)
    await solve(visitor)
    await report(frame, 'error-callback', '110200')
    await page.getByText('110200').waitFor()
    takeForeign(visitor)
    await inspect(visitor, 'portal-captcha-failed')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('110200').waitFor({ state: 'detached' })
    await solve(visitor)
    expect(page.frames()).toHaveLength(2)
    await context.close()
  })

  test('the widget has the language and the theme of the page', async () => {
    const visitor = await open('portal', '/forgot-password', 'Forgot your password?')
    const { page } = visitor
    const choices = async () => Object.fromEntries(new URL((await challengeOf(visitor)).url()).searchParams)
    expect(await choices()).toEqual({ sitekey: 'the-site-key', theme: 'auto', language: 'en' })
    await page.getByLabel('Colors').selectOption('dark')
    await expect.poll(choices).toEqual({ sitekey: 'the-site-key', theme: 'dark', language: 'en' })
    takeForeign(visitor)
    await inspect(visitor, 'portal-captcha-dark')
    await page.evaluate(() => localStorage.setItem('portico.locale', 'zh-Hant'))
    await page.reload()
    await expect.poll(choices).toEqual({ sitekey: 'the-site-key', theme: 'dark', language: 'zh-tw' })
    await visitor.context.close()
  })

  test('Turnstile can reload its script, and no other script can be loaded', async () => {
    const visitor = await open('portal', '/forgot-password', 'Forgot your password?')
    await challengeOf(visitor)
    const load = (url: string) =>
      visitor.page.evaluate((src) => {
        try {
          const element = document.createElement('script')
          element.src = src
          return element.src
        } catch (error) {
          return error instanceof TypeError ? 'refused' : String(error)
        }
      }, url)
    const renewed = `${script}&_upgrade=true&_cb=1767225600000`
    expect(await load(renewed)).toBe(renewed)
    takeForeign(visitor)
    expect(visitor.complaints).toEqual([])
    for (const url of [
      `${script}&onload=alert`,
      'https://challenges.cloudflare.com/other.js',
      'https://challenges.cloudflare.com.evil.test/turnstile/v0/api.js',
      `${world.url}/portal/main.js`,
    ])
      expect(await load(url)).toBe('refused')
    await visitor.context.close()
  })
})
