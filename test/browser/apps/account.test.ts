import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { heading } from './people.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

const paths = [
  '/profile',
  '/security',
  ...['authenticator', 'backup-codes', 'history', 'ip-whitelist', 'passkeys', 'password', 'providers', 'sessions'].map(
    (page) => `/security/${page}`,
  ),
]

describe('the account pages in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
  })
  afterAll(() => world?.stop())

  test.each([
    ['portal', 'owner@demo.test'],
    ['console', 'operator@demo.test'],
  ] as const)('%s: a person changes the profile', async (app, email) => {
    const visitor = await world.signIn(app, email)
    await visitor.page.goto(`${world.url}/${app}/profile`)
    await visitor.page.getByLabel('Name').fill('Ada Lovelace-Öğünç')
    await visitor.page.getByLabel('Phone').fill('+49 30 901820')
    await visitor.page.getByLabel('Language of mails').selectOption('日本語')
    await visitor.page.getByLabel('Time zone').selectOption('Asia/Tokyo')
    await visitor.page.getByLabel('Country').selectOption('JP')
    await visitor.page.getByRole('button', { name: 'Save' }).click()
    await visitor.page.getByText('Saved.').waitFor()
    await visitor.page.reload()
    await expect.poll(() => visitor.page.getByLabel('Name').inputValue()).toBe('Ada Lovelace-Öğünç')
    expect(await visitor.page.getByLabel('Phone').inputValue()).toBe('+4930901820')
    expect(await visitor.page.getByLabel('Time zone').inputValue()).toBe('Asia/Tokyo')
    expect(await visitor.page.getByLabel('Country').inputValue()).toBe('JP')
    await inspect(visitor, `${app}-profile-changed`)
    await visitor.context.close()
  })

  test('the pages fit both widths in the dark, and in a language with long words', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    await visitor.page.emulateMedia({ colorScheme: 'dark' })
    await visitor.page.evaluate(() => localStorage.setItem('portico.locale', 'vi'))
    for (const path of paths) {
      await visitor.page.goto(`${world.url}/portal${path}`)
      await inspect(visitor, `portal-dark${path.replaceAll('/', '-')}`)
    }
    expect(await visitor.page.locator('html').getAttribute('lang')).toBe('vi')
    await visitor.context.close()
  })

  test('an invalid phone number is refused at its field', async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    await visitor.page.goto(`${world.url}/portal/profile`)
    await visitor.page.getByLabel('Phone').fill('not a number')
    await visitor.page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => visitor.page.getByLabel('Phone').getAttribute('aria-invalid')).toBe('true')
    await inspect(visitor, 'portal-profile-refused')
    await visitor.context.close()
  })

  test('a person ends the session of another browser, whose page returns to the sign-in', async () => {
    const other = await world.signIn('portal', 'owner@demo.test')
    const visitor = await world.signIn('portal', 'owner@demo.test')
    await visitor.page.goto(`${world.url}/portal/security/sessions`)
    const rows = visitor.page.getByRole('row')
    // The sessions of the other tests are in it, too. The newest is the first.
    await rows.getByRole('button', { name: 'End' }).first().waitFor()
    const before = await rows.count()
    await inspect(visitor, 'portal-security-sessions-two')
    await rows.getByRole('button', { name: 'End' }).first().click()
    await inspect(visitor, 'portal-security-sessions-end')
    await visitor.page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click()
    await expect.poll(() => rows.count()).toBe(before - 1)
    await visitor.page.getByText('The session has ended.').waitFor()
    await other.page.reload()
    await heading(other, 'Sign in')
    for (const each of [other, visitor]) await each.context.close()
  })

  test('a person ends all other sessions, and lowers the limit', async () => {
    const others = [
      await world.signIn('console', 'operator@demo.test'),
      await world.signIn('console', 'operator@demo.test'),
    ]
    const visitor = await world.signIn('console', 'operator@demo.test')
    await visitor.page.goto(`${world.url}/console/security/sessions`)
    await visitor.page.getByLabel('Maximum number of sessions').fill('2')
    await visitor.page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => visitor.page.getByRole('row').count()).toBe(3)
    await visitor.page.getByRole('button', { name: 'End all other sessions' }).click()
    await visitor.page.getByRole('dialog').getByRole('button', { name: 'End all other sessions' }).click()
    await expect.poll(() => visitor.page.getByRole('row').count()).toBe(2)
    for (const each of [...others, visitor]) await each.context.close()
  })

  test('the sign-in history shows a failed attempt with its reason', async () => {
    const stranger = await world.visit('portal')
    await stranger.page.getByLabel('Email').fill('member@demo.test')
    await stranger.page.getByLabel('Password').fill('not the password')
    await stranger.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await stranger.page.getByRole('alert').waitFor()
    await inspect(stranger, 'portal-sign-in-refused')
    const visitor = await world.signIn('portal', 'member@demo.test')
    await visitor.page.goto(`${world.url}/portal/security/history`)
    await visitor.page.getByText('Wrong password').first().waitFor()
    await inspect(visitor, 'portal-security-history-failed')
    for (const each of [stranger, visitor]) await each.context.close()
  })

  test('a person turns the IP whitelist on only with the own address, and off again', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    const { page } = visitor
    await page.goto(`${world.url}/portal/security/ip-whitelist`)
    expect(await page.getByRole('button', { name: 'Turn on' }).isDisabled()).toBe(true)
    await page.getByLabel('Addresses or ranges').fill('203.0.113.0/24')
    await page.getByRole('button', { name: 'Replace the addresses' }).click()
    await visitor.confirm()
    await page.getByRole('row', { name: /203\.0\.113\.0/ }).waitFor()
    await page.getByRole('button', { name: 'Turn on' }).click()
    await inspect(visitor, 'portal-security-ip-whitelist-turn-on')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await dialog.getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Addresses or ranges').fill('203.0.113.0/24\n127.0.0.1')
    await page.getByRole('button', { name: 'Replace the addresses' }).click()
    await page.getByRole('row', { name: /127\.0\.0\.1/ }).waitFor()
    await page.getByRole('button', { name: 'Turn on' }).click()
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    await page.getByText('The IP whitelist is on.').waitFor()
    await inspect(visitor, 'portal-security-ip-whitelist-on')
    await page.getByRole('button', { name: 'Turn off' }).click()
    await dialog.getByRole('button', { name: 'Turn off' }).click()
    await page.getByText('The IP whitelist is off.').waitFor()
    await visitor.context.close()
  })
})
