import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { addAuthenticator } from '../virtual-authenticator.ts'
import { enterMailedCode, enterPassword, heading, pathOf, signedIn, withPasskeys } from './people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const password = 'a lighthouse keeps 7 boats'

describe('the registration in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld(withPasskeys)
  })
  afterAll(() => world?.stop())

  /** From the sign-in page until the account exists. */
  async function register(visitor: Visitor, email: string): Promise<void> {
    const { page } = visitor
    await page.getByRole('link', { name: 'Create an account' }).click()
    await heading(visitor, 'Create an account')
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel(/Code that we sent to/).waitFor()
    await inspect(visitor, 'portal-register-code')
    const mail = await world.portico.mailTo(email, 'registration-code')
    await page.getByLabel(/Code that we sent to/).fill(codeIn(mail.text))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Name').fill('Grace Hopper')
    expect(await page.getByLabel('Time zone').inputValue()).toBe('Europe/Berlin')
    expect(await page.getByLabel('Country').inputValue()).toBe('US')
    await inspect(visitor, 'portal-register-account')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByLabel('New password', { exact: true }).waitFor()
  }

  async function choosePassword({ page }: Visitor): Promise<void> {
    await page.getByLabel('New password', { exact: true }).fill(password)
    await page.getByLabel('New password again').fill(password)
    await page.getByRole('button', { name: 'Set the password' }).click()
  }

  test('a visitor registers, chooses a password and is signed in', async () => {
    const email = 'grace@demo.test'
    const visitor = await world.visit('portal')
    await register(visitor, email)
    await visitor.page.getByLabel('New password', { exact: true }).fill('password')
    await visitor.page.getByLabel('New password again').fill('password')
    await visitor.page.getByRole('button', { name: 'Set the password' }).click()
    await expect
      .poll(() => visitor.page.getByLabel('New password', { exact: true }).getAttribute('aria-invalid'))
      .toBe('true')
    await inspect(visitor, 'portal-register-password-refused')
    await choosePassword(visitor)
    await enterMailedCode(world, visitor, email, 'login-code')
    await heading(visitor, 'Wallets')
    await visitor.page.goto(pathOf(world, 'portal', '/profile'))
    await expect.poll(() => visitor.page.getByLabel('Name').inputValue()).toBe('Grace Hopper')
    await visitor.context.close()
  })

  test('a visitor registers with a passkey instead of a password', async () => {
    const visitor = await world.visit('portal')
    const device = await addAuthenticator(visitor.page)
    await register(visitor, 'ada@demo.test')
    await inspect(visitor, 'portal-register-credential')
    await visitor.page.getByRole('button', { name: 'Add a passkey' }).click()
    await visitor.page.getByText('The passkey was added.').waitFor()
    expect(await device.credentials()).toHaveLength(1)
    await visitor.page.getByRole('button', { name: 'Continue without a password' }).click()
    await heading(visitor, 'Wallets')
    await visitor.context.close()
  })

  test('a wrong code is refused, and a new one works', async () => {
    const email = 'alan@demo.test'
    const visitor = await world.visit('portal', '/register')
    await visitor.page.getByLabel('Email').fill(email)
    await visitor.page.getByRole('button', { name: 'Continue' }).click()
    await visitor.page.getByLabel(/Code that we sent to/).fill('000000')
    const first = await world.portico.mailTo(email, 'registration-code')
    await visitor.page.getByRole('button', { name: 'Continue' }).click()
    await visitor.page.getByRole('alert').waitFor()
    await visitor.page.getByRole('button', { name: 'Send a new code' }).click()
    await visitor.page.getByText('We sent a new code.').waitFor()
    await expect.poll(async () => (await world.portico.mailTo(email, 'registration-code')).text).not.toBe(first.text)
    const next = await world.portico.mailTo(email, 'registration-code')
    await visitor.page.getByLabel(/Code that we sent to/).fill(codeIn(next.text))
    await visitor.page.getByRole('button', { name: 'Continue' }).click()
    await visitor.page.getByLabel('Name').waitFor()
    await visitor.context.close()
  })
})

describe('the registration with approval in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      settings.portals.CONSUMER.selfRegistration = 'approval'
    })
  })
  afterAll(() => world?.stop())

  test('a visitor waits for the approval, also at the sign-in', async () => {
    const email = 'edsger@demo.test'
    const visitor = await world.visit('portal', '/register')
    const { page } = visitor
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page
      .getByLabel(/Code that we sent to/)
      .fill(codeIn((await world.portico.mailTo(email, 'registration-code')).text))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Name').fill('Edsger Dijkstra')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByLabel('New password', { exact: true }).fill(password)
    await page.getByLabel('New password again').fill(password)
    await page.getByRole('button', { name: 'Set the password' }).click()
    await heading(visitor, 'Your account waits for approval')
    await inspect(visitor, 'portal-register-waiting')
    await page.getByRole('link', { name: 'To the sign-in page' }).click()
    await enterPassword(visitor, email, password)
    await heading(visitor, 'Your account waits for approval')
    await inspect(visitor, 'portal-sign-in-waiting')
    await page.getByRole('button', { name: 'To the sign-in page' }).click()
    await heading(visitor, 'Sign in')
    await visitor.context.close()
  })
})

describe('the closed registration in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      settings.portals.CONSUMER.selfRegistration = 'closed'
    })
  })
  afterAll(() => world?.stop())

  test('the sign-in page has neither a link to it nor a passkey button, and its page says that it is closed', async () => {
    const visitor = await world.visit('portal')
    await heading(visitor, 'Sign in')
    expect(await visitor.page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
    expect(await visitor.page.getByRole('button', { name: /passkey/ }).count()).toBe(0)
    await visitor.page.goto(pathOf(world, 'portal', '/register'))
    await visitor.page.getByLabel('Email').fill('nobody@demo.test')
    await visitor.page.getByRole('button', { name: 'Continue' }).click()
    await visitor.page.getByRole('alert').waitFor()
    await inspect(visitor, 'portal-register-closed')
    await visitor.context.close()
  })

  test('a person still signs in', async () => {
    const visitor = await world.signIn('portal', 'owner@demo.test')
    await signedIn(visitor)
    await visitor.context.close()
  })
})
