import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { otpOf } from '../../harness/otp.ts'
import { chromiumPath, openPage } from '../chromium.ts'
import {
  enterCode,
  enterMailedCode,
  enterPassword,
  heading,
  mailedLink,
  pathOf,
  signedIn,
  signOut,
  withPasskeys,
} from './people.ts'
import { type App, type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const newPassword = 'seven boats pass a lighthouse'

/** Returns the secret. */
async function setUpAuthenticator(world: AppWorld, visitor: Visitor, app: App, email: string): Promise<string> {
  const { page } = visitor
  await page.goto(pathOf(world, app, '/security/authenticator'))
  await page.getByRole('button', { name: 'Set up an app' }).click()
  await enterMailedCode(world, visitor, email)
  const secret = (await page.locator('.account-secret').textContent()) ?? ''
  await page.getByLabel('Code of the app').fill(otpOf(secret, -1))
  await page.getByRole('button', { name: 'Activate' }).click()
  await page.getByText('The authenticator app is active.').waitFor()
  return secret
}

async function setPassword({ page }: Visitor, password: string): Promise<void> {
  await page.getByLabel('New password', { exact: true }).fill(password)
  await page.getByLabel('New password again').fill(password)
  await page.getByRole('button', { name: 'Set the password' }).click()
}

describe(
  'a theft, from the mail to the recovery, in Chromium',
  needs(chromiumPath, 'Chromium is not installed'),
  () => {
    let world: AppWorld
    beforeAll(async () => {
      world = await startAppWorld(withPasskeys)
    })
    afterAll(() => world?.stop())

    test.each([
      ['portal', 'owner@demo.test'],
      ['console', 'checker@demo.test'],
    ] as const)('%s: the owner removes the factor of a thief, sets a new password and signs in', async (app, email) => {
      const thief = await world.signIn(app, email)
      await setUpAuthenticator(world, thief, app, email)

      const owner = await world.visit(app)
      const { page } = owner
      await page.goto(await mailedLink(world, email, 'factor-added'))
      await heading(owner, 'Was this not you?')
      expect(page.url()).toBe(pathOf(world, app, '/undo-factors'))
      await inspect(owner, `${app}-undo-factors`)
      await page.getByRole('button', { name: 'Remove the new factors' }).click()
      await page.getByText(/Removed:/).waitFor()
      await inspect(owner, `${app}-undo-factors-done`)
      await thief.page.reload()
      await heading(thief, 'Sign in')

      await page.getByRole('link', { name: 'Set a new password' }).click()
      await heading(owner, 'Forgot your password?')
      await inspect(owner, `${app}-forgot-password`)
      await page.getByLabel('Email').fill(email)
      await page.getByRole('button', { name: 'Send the link' }).click()
      await page.getByRole('status').waitFor()
      await inspect(owner, `${app}-forgot-password-sent`)
      await page.goto(await mailedLink(world, email, 'password-reset'))
      await heading(owner, 'Set a new password')
      expect(page.url()).toBe(pathOf(world, app, '/reset-password'))
      await inspect(owner, `${app}-reset-password`)
      await setPassword(owner, newPassword)
      await page.getByText(/Sign in with the new password/).waitFor()
      await inspect(owner, `${app}-reset-password-done`)

      await enterPassword(thief, email, 'Portico-demo-2026')
      await thief.page.getByRole('alert').waitFor()
      await page.getByRole('link', { name: 'To the sign-in page' }).click()
      await enterPassword(owner, email, newPassword)
      await enterMailedCode(world, owner, email, 'login-code')
      await signedIn(owner)
      for (const each of [thief, owner]) await each.context.close()
    })

    test('a page without its link says so, and a used link is refused', async () => {
      const visitor = await world.visit('portal', '/reset-password')
      await visitor.page.getByText(/Open the link again/).waitFor()
      await inspect(visitor, 'portal-reset-password-without-link')
      await visitor.page.goto(`${pathOf(world, 'portal', '/init-password')}#token=unknown`)
      await heading(visitor, 'Set your password')
      expect(visitor.page.url()).toBe(pathOf(world, 'portal', '/init-password'))
      await setPassword(visitor, newPassword)
      await visitor.page.getByRole('alert').waitFor()
      await inspect(visitor, 'portal-init-password-refused')
      await visitor.context.close()
    })

    test('a sign-out in another tab leads to the sign-in, and another account reloads the page', async () => {
      const first = await world.signIn('portal', 'member@demo.test')
      await first.page.goto(pathOf(world, 'portal', '/profile'))
      await expect.poll(() => first.page.getByLabel('Name').inputValue()).toBe('Demo Member')
      const second: Visitor = { ...first, ...(await openPage(first.context, pathOf(world, 'portal', '/security'))) }
      await signOut(second)
      await heading(first, 'Sign in')
      await enterPassword(second, 'owner@demo.test', newPassword)
      await enterMailedCode(world, second, 'owner@demo.test', 'login-code')
      await signedIn(second)
      await heading(first, 'Profile')
      await first.page.getByText('owner@demo.test').waitFor()
      expect(await first.page.getByText('member@demo.test').count()).toBe(0)
      await first.context.close()
    })
  },
)

describe('the end of a session in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      // Announced from the start, and longer than the pictures take.
      settings.sessions.idleMs = 60_000
      // Each factor is older, and so binds the recovery.
      settings.passwords.suspicionWindowMs = 0
    })
  })
  afterAll(() => world?.stop())

  test('its end is announced, put off once, and leads back to the page after a sign-in', {
    timeout: 300_000,
  }, async () => {
    const visitor = await world.signIn('portal', 'member@demo.test')
    const { page } = visitor
    await page.goto(pathOf(world, 'portal', '/security/password'))
    const notice = page.getByText(/You will be signed out in \d+ s/)
    const seconds = async () => Number(/in (\d+) s/.exec((await notice.textContent()) ?? '')?.[1])
    await notice.waitFor()
    await inspect(visitor, 'portal-session-end')
    await expect.poll(seconds, { timeout: 60_000 }).toBeLessThan(50)
    const left = await seconds()
    await page.getByRole('button', { name: 'Stay signed in' }).click()
    await expect.poll(seconds).toBeGreaterThan(left)
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor({ timeout: 180_000 })
    expect(page.url()).toBe(pathOf(world, 'portal', '/security/password'))
    await enterPassword(visitor, 'member@demo.test', 'Portico-demo-2026')
    await enterMailedCode(world, visitor, 'member@demo.test', 'login-code')
    await heading(visitor, 'Password')
    await visitor.context.close()
  })

  test('a reset asks for the authenticator that the account has', async () => {
    const email = 'owner@demo.test'
    const visitor = await world.signIn('portal', email)
    const { page } = visitor
    const secret = await setUpAuthenticator(world, visitor, 'portal', email)
    await signOut(visitor)
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByRole('status').waitFor()
    await page.goto(await mailedLink(world, email, 'password-reset'))
    await setPassword(visitor, newPassword)
    await page.getByLabel('Second factor').waitFor()
    await inspect(visitor, 'portal-reset-password-factor')
    await page.getByLabel('Code', { exact: true }).fill(otpOf(secret))
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText(/Sign in with the new password/).waitFor()
    await page.getByRole('link', { name: 'To the sign-in page' }).click()
    await enterPassword(visitor, email, newPassword)
    await page.getByRole('dialog').getByLabel('Code of your authenticator app').waitFor()
    await enterCode(visitor, otpOf(secret, 1))
    await signedIn(visitor)
    await visitor.context.close()
  })
})
