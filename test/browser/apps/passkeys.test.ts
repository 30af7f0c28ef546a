import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../../harness/cli.ts'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { addAuthenticator, type VirtualAuthenticator } from '../virtual-authenticator.ts'
import { createOperator, operatorPassword } from './operators.ts'
import { enterMailedCode, enterPassword, mailedLink, pathOf, signedIn, signOut, withPasskeys } from './people.ts'
import { type App, type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const password = 'Portico-demo-2026'

/** Marks the page when it has asked the browser for suggestions. A later device that is present would answer them. */
async function watchSuggestions({ page }: Visitor): Promise<void> {
  await page.addInitScript(() => {
    const get = navigator.credentials.get.bind(navigator.credentials)
    navigator.credentials.get = (options) => {
      document.documentElement.dataset.passkeys = options?.mediation ?? 'asked'
      return get(options)
    }
  })
}

/** Signs out, and waits until the sign-in page leaves the passkey to the user. */
async function signOutBeside(visitor: Visitor, device: VirtualAuthenticator): Promise<void> {
  await device.setPresent(false)
  await signOut(visitor)
  await visitor.page.locator('html[data-passkeys="conditional"]').waitFor({ state: 'attached' })
  await device.setPresent(true)
}

describe('passkeys as second factors in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      withPasskeys(settings)
      // Each factor is older, and so binds the recovery.
      settings.passwords.suspicionWindowMs = 0
    })
  })
  afterAll(() => world?.stop())

  /** Signs in by a mailed code, and adds a passkey. */
  async function withDevice(app: App, email: string) {
    const visitor = await world.signIn(app, email)
    const { page } = visitor
    const device = await addAuthenticator(page)
    await watchSuggestions(visitor)
    await page.goto(pathOf(world, app, '/security/passkeys'))
    await page.getByLabel('Name').fill('Laptop')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await enterMailedCode(world, visitor, email)
    await page.getByRole('row', { name: /Laptop/ }).waitFor()
    return { visitor, page, device }
  }

  test.each([
    ['portal', 'member@demo.test'],
    ['console', 'operator@demo.test'],
  ] as const)('%s: the passkey follows the password, and a mailed code takes its place', async (app, email) => {
    const { visitor, page, device } = await withDevice(app, email)
    const mails = async () =>
      (await world.portico.mailsTo(email)).filter(({ template }) => template === 'login-code').length
    const before = await mails()
    await signOutBeside(visitor, device)
    await enterPassword(visitor, email, password)
    await signedIn(visitor)
    expect(await mails()).toBe(before)

    await signOutBeside(visitor, device)
    // The user fails the verification of the device.
    await device.setVerified(false)
    await enterPassword(visitor, email, password)
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/Code that we sent to/).waitFor()
    await inspect(visitor, `${app}-sign-in-passkey-or-code`)
    await device.setVerified(true)
    await dialog.getByRole('button', { name: 'Passkey', exact: true }).click()
    await signedIn(visitor)

    await signOutBeside(visitor, device)
    await device.setVerified(false)
    await enterPassword(visitor, email, password)
    await enterMailedCode(world, visitor, email, 'login-code')
    await signedIn(visitor)
    await visitor.context.close()
  })

  test('a reset of the password asks for the passkey that the account has', async () => {
    const email = 'owner@demo.test'
    const { visitor, page, device } = await withDevice('portal', email)
    await signOutBeside(visitor, device)
    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Send the link' }).click()
    await page.getByRole('status').waitFor()
    await page.goto(await mailedLink(world, email, 'password-reset'))
    const setPassword = page.getByRole('button', { name: 'Set the password' })
    await page.getByLabel('New password', { exact: true }).fill('seven boats pass a lighthouse')
    await page.getByLabel('New password again').fill('seven boats pass a lighthouse')
    await setPassword.click()
    await page.getByLabel('Second factor').selectOption('Passkey')
    expect(await page.getByLabel('Code', { exact: true }).count()).toBe(0)
    await inspect(visitor, 'portal-reset-password-passkey')
    await device.setVerified(false)
    await setPassword.click()
    await expect.poll(() => setPassword.isEnabled()).toBe(true)
    expect(await page.getByText(/Sign in with the new password/).count()).toBe(0)
    await device.setVerified(true)
    await setPassword.click()
    await page.getByText(/Sign in with the new password/).waitFor()
    await inspect(visitor, 'portal-reset-password-passkey-done')

    await device.setPresent(false)
    await page.getByRole('link', { name: 'To the sign-in page' }).click()
    await page.locator('html[data-passkeys="conditional"]').waitFor({ state: 'attached' })
    await device.setPresent(true)
    await enterPassword(visitor, email, 'seven boats pass a lighthouse')
    await signedIn(visitor)
    await visitor.context.close()
  })
})

describe('operators who need a passkey, in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  const email = 'olga@demo.test'
  let world: AppWorld
  let token = ''
  beforeAll(async () => {
    world = await startAppWorld(
      (settings) => {
        withPasskeys(settings)
        settings.portals.SYSTEM.mfa.required = { passkey: ['operator:manage', 'account:suspend'] }
      },
      {
        prepare: async (variables) => {
          await createOperator(variables, email, '--no-authenticator')
          const named = ['--email', email, '--reason', 'her first day']
          const { out, err } = await runCli(['operator', 'passkey', ...named], {}, variables)
          token = /\): (\S+)$/.exec(out.trim())?.[1] ?? err
        },
      },
    )
  })
  afterAll(() => world?.stop())

  test('a token that was handed over enrolls the first passkey, whose session has every permission', async () => {
    const visitor = await world.signIn('console', email, operatorPassword)
    const { page } = visitor
    const device = await addAuthenticator(page)
    await watchSuggestions(visitor)
    await page.goto(pathOf(world, 'console', '/operators'))
    expect(await page.getByRole('button', { name: 'Invite a person' }).isDisabled()).toBe(true)
    await inspect(visitor, 'console-operators-without-passkey')

    await page.goto(pathOf(world, 'console', '/security/passkeys'))
    await page.getByLabel('Name').fill('Laptop')
    const add = page.getByRole('button', { name: 'Add a passkey' })
    await add.click()
    await enterMailedCode(world, visitor, email)
    await page.getByText('Enter the token of your administrator.').waitFor()
    await inspect(visitor, 'console-passkeys-token')
    expect(await device.credentials()).toHaveLength(0)
    await page.getByLabel('Enrollment token').fill(`${token.slice(0, -4)}aaaa`)
    await add.click()
    await page.getByText('This token is unknown, expired or used.').waitFor()
    await page.getByLabel('Enrollment token').fill(token)
    await add.click()
    await page.getByRole('row', { name: /Laptop/ }).waitFor()
    expect(await device.credentials()).toHaveLength(1)
    await inspect(visitor, 'console-passkeys-enrolled')

    await signOutBeside(visitor, device)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await signedIn(visitor)
    await page.goto(pathOf(world, 'console', '/operators'))
    await expect.poll(() => page.getByRole('button', { name: 'Invite a person' }).isEnabled()).toBe(true)
    await visitor.context.close()
  })
})
