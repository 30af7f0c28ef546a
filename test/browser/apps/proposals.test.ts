import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { otpOf } from '../../harness/otp.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { createOperator, operatorPassword } from './operators.ts'
import { enterMailedCode, enterPassword, heading, pathOf, signedIn } from './people.ts'
import { done } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const third = 'supervisor@demo.test'

describe('decisions about operators in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let proposer: Visitor
  let target: Visitor
  let decider: Visitor
  beforeAll(async () => {
    world = await startAppWorld(
      (settings) => {
        settings.login.resendMs = 0
      },
      { prepare: async (variables) => void (await createOperator(variables, third, '--no-authenticator')) },
    )
    await restrictChecker(world, (permission) => permission !== 'audit:read')
    proposer = await world.signIn('console', 'operator@demo.test')
    target = await world.signIn('console', auditor)
    decider = await world.signIn('console', third, operatorPassword)
  })
  afterAll(() => world?.stop())

  const auditLog = ({ page }: Visitor) => page.getByRole('link', { name: 'Audit log', exact: true })

  /** Opens the newest waiting proposal. */
  async function openProposal({ page }: Visitor, kind: string): Promise<void> {
    await page.goto(pathOf(world, 'console', '/queues/proposals'))
    await page.getByRole('link', { name: kind }).click()
    await page.getByRole('heading', { level: 1, name: `${kind} · ${auditor}` }).waitFor()
  }

  async function decide(visitor: Visitor, label: string, notice: string, reason?: string): Promise<void> {
    await visitor.page.getByRole('radio', { name: label }).check()
    if (reason !== undefined) await visitor.page.getByLabel('Reason').fill(reason)
    await visitor.page.getByRole('button', { name: label, exact: true }).click()
    await done(visitor, notice)
    await visitor.page.getByText('This item needs no decision.').waitFor()
  }

  async function proposeAuditLog(): Promise<void> {
    const { page } = proposer
    await page.goto(pathOf(world, 'console', '/operators'))
    await page.getByRole('link', { name: auditor }).click()
    await page.getByRole('button', { name: 'Propose permissions' }).click()
    const dialog = page.getByRole('dialog', { name: 'Propose permissions' })
    await dialog.getByLabel('View audit log').check()
    await dialog.getByLabel('Reason').fill('They audit again')
    await dialog.getByRole('button', { name: 'Propose permissions' }).click()
    await done(proposer, 'The proposal waits for another operator.')
  }

  test('permissions: neither the proposer nor the target decides, and a third operator does', async () => {
    expect(await auditLog(target).count()).toBe(0)
    await proposeAuditLog()
    await openProposal(proposer, 'Permissions')
    await proposer.page.getByText('You proposed this. Another operator must confirm it.').waitFor()
    expect(await proposer.page.getByRole('radio', { name: 'Confirm' }).isDisabled()).toBe(true)
    expect(await proposer.page.getByRole('radio', { name: 'Withdraw' }).isEnabled()).toBe(true)
    await inspect(proposer, 'console-proposal-proposer')

    await openProposal(target, 'Permissions')
    await target.page.getByText('This concerns your account. Other operators must decide.').waitFor()
    for (const name of ['Confirm', 'Reject'])
      expect(await target.page.getByRole('radio', { name }).isDisabled()).toBe(true)
    await inspect(target, 'console-proposal-target')

    await openProposal(decider, 'Permissions')
    await decider.page.getByText('They audit again').first().waitFor()
    await decider.page.getByRole('radio', { name: 'Confirm' }).check()
    await inspect(decider, 'console-proposal-third')
    await decide(decider, 'Confirm', 'The proposal is confirmed.')
    await inspect(decider, 'console-proposal-decided')
    await proposer.page.reload()
    await proposer.page.getByRole('link', { name: third }).first().waitFor()

    await target.page.goto(pathOf(world, 'console', '/'))
    await auditLog(target).click()
    await heading(target, 'Audit log')
  })

  test('permissions: a third operator rejects, and the proposer sees the reason', async () => {
    await restrictChecker(world, (permission) => permission !== 'audit:read')
    await proposeAuditLog()
    await openProposal(decider, 'Permissions')
    await decide(decider, 'Reject', 'The proposal is rejected.', 'Another team audits')
    await proposer.page.goto(decider.page.url())
    await proposer.page.getByText('Another team audits').first().waitFor()
    await inspect(proposer, 'console-proposal-rejected')
    await target.page.goto(pathOf(world, 'console', '/'))
    await heading(target, 'Overview')
    expect(await auditLog(target).count()).toBe(0)
  })

  test('factors: a second operator confirms the reset, which ends the sessions of the person', async () => {
    const { page } = target
    await page.goto(pathOf(world, 'console', '/security/authenticator'))
    await page.getByRole('button', { name: 'Set up an app' }).click()
    await enterMailedCode(world, target, auditor)
    const secret = (await page.locator('.account-secret').textContent()) ?? ''
    await page.getByLabel('Code of the app').fill(otpOf(secret, -1))
    await page.getByRole('button', { name: 'Activate' }).click()
    await page.getByText('The authenticator app is active.').waitFor()

    await proposer.page.goto(pathOf(world, 'console', '/accounts'))
    await proposer.page.getByRole('link', { name: auditor }).click()
    await proposer.page.getByRole('button', { name: 'Request a factor reset' }).click()
    const dialog = proposer.page.getByRole('dialog', { name: 'Request a factor reset' })
    await dialog.getByLabel('Reason').fill('Her phone is lost. She came to the office with her passport')
    await inspect(proposer, 'console-account-reset-factors')
    await dialog.getByRole('button', { name: 'Request a factor reset' }).click()
    await done(proposer, 'Requested: Pending')
    await openProposal(proposer, 'Factor reset')
    await proposer.page.getByText('You proposed this. Another operator must confirm it.').waitFor()

    await openProposal(decider, 'Factor reset')
    await decider.page.getByText(/^Removes the authenticator, the passkeys and the backup codes of/).waitFor()
    await inspect(decider, 'console-proposal-reset')
    await decide(decider, 'Confirm', 'The proposal is confirmed.')
    await inspect(decider, 'console-proposal-reset-confirmed')

    await page.reload()
    await heading(target, 'Sign in')
    await enterPassword(target, auditor, 'Portico-demo-2026')
    await page
      .getByRole('dialog')
      .getByLabel(/Code that we sent to/)
      .waitFor()
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Authenticator app' }).count()).toBe(0)
    await enterMailedCode(world, target, auditor, 'login-code')
    await signedIn(target)
    await page.goto(pathOf(world, 'console', '/security/authenticator'))
    await page.getByRole('button', { name: 'Set up an app' }).waitFor()
  })
})
