import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { enterCode, pathOf } from './people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

describe('a second step-up soon after a mail', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      settings.login.resendMs = 600_000
      settings.mfa.binding = 'purpose'
    })
  })
  afterAll(() => world?.stop())

  /** With a button that needs a step-up. */
  async function authenticatorPage(email: string): Promise<Visitor> {
    const visitor = await world.signIn('portal', email)
    await visitor.page.goto(pathOf(world, 'portal', '/security/authenticator'))
    return visitor
  }

  test('the dialog accepts the mailed code, and says when another one can be mailed', async () => {
    const email = 'member@demo.test'
    const visitor = await authenticatorPage(email)
    const { page } = visitor
    const dialog = page.getByRole('dialog', { name: 'Confirm it is you' })
    const setUp = page.getByRole('button', { name: 'Set up an app' })
    await setUp.click()
    await dialog.getByLabel(/Code that we sent to/).waitFor()
    const wait = dialog.getByRole('button', { name: /^Send a new code in \d+ minutes$/ })
    expect(await wait.isDisabled()).toBe(true)
    const { text } = await world.portico.mailTo(email, 'step-up-code')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await setUp.click()
    await dialog.getByText('We cannot mail another code yet.').waitFor()
    expect(await wait.isDisabled()).toBe(true)
    await inspect(visitor, 'portal-step-up-too-soon')
    await enterCode(visitor, codeIn(text))
    await page.locator('.account-secret').waitFor()
    await visitor.context.close()
  })

  test('the dialog counts down, and a refusal of another mail keeps the first code', async () => {
    const email = 'owner@demo.test'
    const visitor = await authenticatorPage(email)
    const { page } = visitor
    const dialog = page.getByRole('dialog', { name: 'Confirm it is you' })
    await page.clock.install()
    await page.getByRole('button', { name: 'Set up an app' }).click()
    await dialog.getByRole('button', { name: /^Send a new code in \d+ minutes$/ }).waitFor()
    const { text } = await world.portico.mailTo(email, 'step-up-code')
    await page.clock.fastForward(500_000)
    await dialog.getByRole('button', { name: /^Send a new code in \d+ seconds$/ }).waitFor()
    await page.clock.fastForward(110_000)
    await dialog.getByRole('button', { name: 'Send a new code', exact: true }).click()
    await dialog.getByText('We cannot mail another code yet.').waitFor()
    await dialog.getByRole('button', { name: /^Send a new code in \d+ minutes$/ }).waitFor()
    await enterCode(visitor, codeIn(text))
    await page.locator('.account-secret').waitFor()
    await visitor.context.close()
  })
})
