import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { otpOf } from '../../harness/otp.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { createOperator, operatorPassword } from './operators.ts'
import { enterCode, enterMailedCode, enterPassword, heading, pathOf, signedIn, signOut } from './people.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

const ownPassword = 'seven boats pass a lighthouse'

describe('the first sign-in of a new account in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  const email = 'olga@demo.test'
  let world: AppWorld
  let secret = ''
  let backupCode = ''
  beforeAll(async () => {
    world = await startAppWorld(
      (settings) => {
        settings.login.resendMs = 0
      },
      {
        prepare: async (variables) => {
          const printed = await createOperator(variables, email, '--role', 'auditor')
          secret = /authenticator secret: (\S+)/.exec(printed)?.[1] ?? ''
          backupCode = /backup codes \(shown only once\): (\S+)/.exec(printed)?.[1] ?? ''
        },
      },
    )
  })
  afterAll(() => world?.stop())

  /** A step of the registration, as a page of the deployment sends it. */
  const register = async (path: string, body: object) => {
    const { status, text, body: reply } = await world.portico.call('POST', `/web/v1/consumer/auth/${path}`, { body })
    expect(status, text).toBe(200)
    return reply.data
  }

  test('a new operator signs in with what the command printed, and replaces the password', async () => {
    const visitor = await world.visit('console')
    const { page } = visitor
    await enterPassword(visitor, email, operatorPassword)
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').waitFor()
    await inspect(visitor, 'console-first-sign-in')
    await dialog.getByLabel('Code of your authenticator app').waitFor()
    await enterCode(visitor, otpOf(secret, -1))
    await heading(visitor, 'Overview')
    // The role of an auditor decides nothing.
    await page.getByRole('link', { name: 'Audit log', exact: true }).waitFor()
    await page.goto(pathOf(world, 'console', '/operators'))
    expect(await page.getByRole('button', { name: 'Invite a person' }).isDisabled()).toBe(true)

    await page.goto(pathOf(world, 'console', '/security/password'))
    await page.getByLabel('Current password').fill(operatorPassword)
    await page.getByLabel('New password', { exact: true }).fill(ownPassword)
    await page.getByLabel('New password again').fill(ownPassword)
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('dialog').getByLabel('Code of your authenticator app').waitFor()
    await enterCode(visitor, otpOf(secret))
    await page.getByText(/Password changed/).waitFor()

    await signOut(visitor)
    await enterPassword(visitor, email, operatorPassword)
    await page.getByRole('alert').waitFor()
    await enterPassword(visitor, email, ownPassword)
    await page.getByRole('dialog').getByRole('button', { name: 'Backup code' }).click()
    await page.getByRole('dialog').getByLabel('One of your backup codes').waitFor()
    await enterCode(visitor, backupCode)
    await signedIn(visitor)
    await visitor.context.close()
  })

  test('the link of a registration sets the first password once, and leads to the sign-in', async () => {
    const customer = 'grace@demo.test'
    const { sessionId } = await register('register/initiate', { email: customer, turnstileToken: 'x' })
    const { text } = await world.portico.mailTo(customer, 'registration-code')
    await register('register/verify-email', { sessionId, code: codeIn(text) })
    const { passwordInitToken } = await register('register/complete', { sessionId, accountName: 'Grace Hopper' })
    const link = `${pathOf(world, 'portal', '/init-password')}#token=${passwordInitToken}`
    const visitor = await world.visit('portal', `/init-password#token=${passwordInitToken}`)
    const { page } = visitor
    await heading(visitor, 'Set your password')
    expect(page.url()).toBe(pathOf(world, 'portal', '/init-password'))
    await inspect(visitor, 'portal-init-password')
    const set = async (password: string, again = password): Promise<void> => {
      await page.getByLabel('New password', { exact: true }).fill(password)
      await page.getByLabel('New password again').fill(again)
      await page.getByRole('button', { name: 'Set the password' }).click()
    }
    await set(ownPassword, 'another one')
    await page.getByText('The two passwords are different.').waitFor()
    await set(ownPassword)
    await page.getByRole('status').waitFor()
    await inspect(visitor, 'portal-init-password-done')
    await page.getByRole('link', { name: 'To the sign-in page' }).click()
    await enterPassword(visitor, customer, ownPassword)
    await enterMailedCode(world, visitor, customer, 'login-code')
    await heading(visitor, 'Wallets')
    await signOut(visitor)

    await page.goto(link)
    await heading(visitor, 'Set your password')
    await set('another boat passes by')
    await page.getByRole('alert').waitFor()
    await visitor.context.close()
  })
})
