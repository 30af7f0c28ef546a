import { encode } from 'uqr'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { otpOf } from '../../harness/otp.ts'
import { chromiumPath } from '../chromium.ts'
import { addAuthenticator } from '../virtual-authenticator.ts'
import {
  enterCode,
  enterMailedCode,
  enterPassword,
  heading,
  pathOf,
  signedIn,
  signOut,
  withPasskeys,
} from './people.ts'
import { type App, type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const password = 'Portico-demo-2026'

describe('the security pages in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld(withPasskeys)
  })
  afterAll(() => world?.stop())

  /** Returns the secret that the page shows. */
  async function setUpAuthenticator(visitor: Visitor, app: App, email: string): Promise<string> {
    const { page } = visitor
    await page.goto(pathOf(world, app, '/security/authenticator'))
    await page.getByRole('button', { name: 'Set up an app' }).click()
    await enterMailedCode(world, visitor, email)
    const secret = (await page.locator('.account-secret').textContent()) ?? ''
    await inspect(visitor, `${app}-security-authenticator-qr`)
    await page.getByLabel('Code of the app').fill(otpOf(secret, -1))
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByText('The authenticator app is active.').waitFor()
    return secret
  }

  test.each([
    ['portal', 'owner@demo.test'],
    ['console', 'operator@demo.test'],
  ] as const)('%s: a person scans the QR code, signs in with the app and with a backup code', async (app, email) => {
    const visitor = await world.signIn(app, email)
    const { page } = visitor
    const secret = await setUpAuthenticator(visitor, app, email)
    await inspect(visitor, `${app}-security-authenticator-on`)

    await page.getByRole('link', { name: /Generate backup codes/ }).click()
    await page.getByRole('button', { name: 'Generate codes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Generate codes' }).click()
    const codes = page.locator('.account-codes code')
    await codes.first().waitFor()
    const [backupCode = ''] = await codes.allTextContents()
    await inspect(visitor, `${app}-security-backup-codes-new`)
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.getByText('Copied.').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(backupCode)

    await signOut(visitor)
    await enterPassword(visitor, email, password)
    // The strongest factor of the account comes first.
    await page.getByRole('dialog').getByLabel('Code of your authenticator app').waitFor()
    await inspect(visitor, `${app}-sign-in-factor`)
    await enterCode(visitor, otpOf(secret))
    await signedIn(visitor)

    await signOut(visitor)
    await enterPassword(visitor, email, password)
    await page.getByRole('dialog').getByRole('button', { name: 'Backup code' }).click()
    await page.getByRole('dialog').getByLabel('One of your backup codes').waitFor()
    await enterCode(visitor, backupCode)
    await signedIn(visitor)
    await page.goto(pathOf(world, app, '/security'))
    await page.getByText('9 of 10 left').waitFor()
    await inspect(visitor, `${app}-security-factors`)
    await visitor.context.close()
  })

  test('the QR code has the secret that the page shows', async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    await visitor.page.goto(pathOf(world, 'portal', '/security/authenticator'))
    await visitor.page.getByRole('button', { name: 'Set up an app' }).click()
    await enterMailedCode(world, visitor, 'member@demo.test')
    const secret = await visitor.page.locator('.account-secret').textContent()
    const drawn = await visitor.page.locator('.account-qr path').getAttribute('d')
    const uri = `otpauth://totp/Portico:member%40demo.test?secret=${secret}&issuer=Portico`
    const { data } = encode(uri, { border: 2 })
    const expected = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    expect(drawn).toBe(expected.join(''))
    await visitor.context.close()
  })

  test('a person asks for another mail, and mistypes the code once', async () => {
    const visitor = await world.visit('portal')
    await enterPassword(visitor, 'member@demo.test', password)
    await visitor.page
      .getByRole('dialog')
      .getByLabel(/Code that we sent to/)
      .waitFor()
    const first = await world.portico.mailTo('member@demo.test', 'login-code')
    await visitor.page.getByRole('button', { name: 'Send a new code' }).click()
    await expect
      .poll(async () => (await world.portico.mailTo('member@demo.test', 'login-code')).text)
      .not.toBe(first.text)
    await enterCode(visitor, '000000')
    await visitor.page.getByRole('dialog').getByRole('alert').waitFor()
    await inspect(visitor, 'portal-sign-in-factor-refused')
    await enterMailedCode(world, visitor, 'member@demo.test', 'login-code')
    await signedIn(visitor)
    await visitor.context.close()
  })

  test.each([
    ['portal', 'member@demo.test'],
    ['console', 'checker@demo.test'],
  ] as const)('%s: a person adds a passkey, renames it, signs in with it and removes it', async (app, email) => {
    const visitor = await world.signIn(app, email)
    const { page } = visitor
    const device = await addAuthenticator(page)
    await page.addInitScript(() => {
      const get = navigator.credentials.get.bind(navigator.credentials)
      navigator.credentials.get = (options) => {
        document.documentElement.dataset.passkeys = options?.mediation ?? 'asked'
        return get(options)
      }
    })
    await page.goto(pathOf(world, app, '/security/passkeys'))
    await page.getByLabel('Name').fill('Laptop')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await enterMailedCode(world, visitor, email)
    await page.getByRole('row', { name: /Laptop/ }).waitFor()
    expect(await device.credentials()).toHaveLength(1)
    await inspect(visitor, `${app}-security-passkeys-one`)

    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Work laptop')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('row', { name: /Work laptop/ }).waitFor()

    await device.setPresent(false)
    await signOut(visitor)
    // The suggestions that begin later would sign in before the click.
    await page.locator('html[data-passkeys="conditional"]').waitFor({ state: 'attached' })
    await device.setPresent(true)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await signedIn(visitor)

    await page.goto(pathOf(world, app, '/security/passkeys'))
    await page.getByRole('button', { name: 'Remove' }).click()
    await inspect(visitor, `${app}-security-passkeys-remove`)
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('You have no passkeys.').waitFor()
    await visitor.context.close()
  })

  test('a person changes the password, which ends the other sessions', async () => {
    const email = 'checker@demo.test'
    const other = await world.signIn('console', email)
    const visitor = await world.signIn('console', email)
    const { page } = visitor
    await page.goto(pathOf(world, 'console', '/security/password'))
    await page.getByLabel('Current password').fill(password)
    await page.getByLabel('New password', { exact: true }).fill('a-lighthouse keeps 7 boats ')
    await page.getByLabel('New password again').fill('another one')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('The two passwords are different.').waitFor()
    await page.getByLabel('New password again').fill('a-lighthouse keeps 7 boats ')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await enterMailedCode(world, visitor, email)
    await page.getByText(/Password changed/).waitFor()
    await inspect(visitor, 'console-security-password-changed')
    await other.page.reload()
    await heading(other, 'Sign in')
    await enterPassword(other, email, password)
    await other.page.getByRole('alert').waitFor()
    await enterPassword(other, email, 'a-lighthouse keeps 7 boats ')
    await enterMailedCode(world, other, email, 'login-code')
    await signedIn(other)
    for (const each of [other, visitor]) await each.context.close()
  })

  test('an app is removed after a confirmation', async () => {
    const email = 'owner@demo.test'
    const visitor = await world.visit('portal')
    await enterPassword(visitor, email, password)
    await visitor.page.getByRole('dialog').getByRole('button', { name: 'Code by mail' }).click()
    await enterMailedCode(world, visitor, email, 'login-code')
    await signedIn(visitor)
    await visitor.page.goto(pathOf(world, 'portal', '/security/authenticator'))
    await visitor.page.getByRole('button', { name: 'Remove the app' }).click()
    await visitor.page.getByRole('dialog').getByRole('button', { name: 'Remove the app' }).click()
    await visitor.page.getByRole('dialog').getByRole('button', { name: 'Code by mail' }).click()
    await enterMailedCode(world, visitor, email)
    await visitor.page.getByText('The authenticator app was removed.').waitFor()
    await expect.poll(() => visitor.page.getByRole('button', { name: 'Set up an app' }).count()).toBe(1)
    await visitor.context.close()
  })
})
