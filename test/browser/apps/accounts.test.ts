import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

async function openAccount({ page }: Visitor, email: string): Promise<void> {
  await page.getByRole('link', { name: email }).click()
  await page.getByRole('heading', { level: 1, name: email }).waitFor()
}

/** The account waits for approval. */
async function register({ portico }: AppWorld, email: string): Promise<void> {
  const post = async (step: string, body: object) => {
    const answer = await portico.call('POST', `/web/v1/consumer/auth/register/${step}`, { body })
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }
  const { sessionId } = await post('initiate', { email, turnstileToken: 'x' })
  const { text } = await portico.mailTo(email, 'registration-code')
  await post('verify-email', { sessionId, code: codeIn(text) })
  await post('complete', { sessionId, accountName: 'New Person', defaultLanguage: 'en' })
}

describe('accounts in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld((settings) => {
      settings.portals.CONSUMER.selfRegistration = 'approval'
    })
  })
  afterAll(() => world?.stop())

  test('an operator finds, suspends and reactivates an account', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Accounts', exact: true }).click()
    await page.getByRole('link', { name: 'member@demo.test' }).waitFor()
    await inspect(visitor, 'console-accounts-list')

    await page.getByLabel('Email').fill('member@')
    await page.getByLabel('Portal').selectOption('CONSUMER')
    await page.getByRole('button', { name: 'Filter' }).click()
    await expect.poll(() => page.url()).toContain('?portal=CONSUMER&email=member%40')
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export these rows' }).click()
    const file = await download
    expect(file.suggestedFilename()).toBe('accounts.csv')
    const [head, row, ...others] = readFileSync(await file.path(), 'utf8')
      .trim()
      .split('\r\n')
    expect(head).toContain('"accountEmail"')
    expect(row).toContain('"member@demo.test","Demo Member","CONSUMER","ACTIVE"')
    expect(others).toEqual([])

    await openAccount(visitor, 'member@demo.test')
    await inspect(visitor, 'console-account')
    await page.getByRole('button', { name: 'Suspend' }).click()
    const dialog = page.getByRole('dialog', { name: 'Suspend' })
    await dialog.getByLabel('Reason').fill('Reported as stolen')
    await inspect(visitor, 'console-account-suspend')
    await dialog.getByRole('button', { name: 'Suspend' }).click()
    await visitor.confirm()
    await page.getByText('The account is suspended.').waitFor()
    await expect.poll(() => dialog.count()).toBe(0)

    // The step-up is recent enough for the next command.
    await page.getByRole('button', { name: 'Reactivate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Reactivate' }).click()
    await page.getByText('The account is active again.').waitFor()
    await page.getByRole('button', { name: 'Suspend' }).waitFor()

    await page.getByRole('button', { name: 'End sessions' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'End sessions' }).click()
    await page.getByText('Ended sessions: 0').waitFor()

    await page.getByRole('button', { name: 'Request a factor reset' }).click()
    const reset = page.getByRole('dialog', { name: 'Request a factor reset' })
    await reset.getByLabel('Reason').fill('Showed the passport at the counter')
    await reset.getByRole('button', { name: 'Request a factor reset' }).click()
    // The member has no second factor.
    await reset.getByRole('alert').waitFor()
    await visitor.context.close()
  })

  test('an operator approves one registration and rejects another one', async () => {
    for (const email of ['first@new.test', 'second@new.test']) await register(world, email)
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.goto(`${world.url}/console/accounts?status=PENDING_APPROVAL`)
    await openAccount(visitor, 'first@new.test')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await visitor.confirm()
    await page.getByText('The account is approved.').waitFor()
    await page.getByRole('button', { name: 'Suspend' }).waitFor()

    await page.goto(`${world.url}/console/accounts?status=PENDING_APPROVAL`)
    await openAccount(visitor, 'second@new.test')
    await inspect(visitor, 'console-account-pending')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('Not a customer')
    await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
    await page.getByText('The account is rejected.').waitFor()
    await page.goto(`${world.url}/console/accounts?status=PENDING_APPROVAL`)
    await page.getByText('No accounts match.').waitFor()
    await inspect(visitor, 'console-accounts-empty')
    await visitor.context.close()
  })

  test('nobody decides on their own account', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Accounts', exact: true }).click()
    await openAccount(visitor, 'operator@demo.test')
    expect(await page.getByRole('button', { name: 'Suspend' }).isDisabled()).toBe(true)
    expect(await page.getByText('This is your own account.').count()).toBe(2)
    await inspect(visitor, 'console-account-own')
    await visitor.context.close()
  })

  test('an auditor sees which permissions are missing', async () => {
    await restrictChecker(world)
    const visitor = await world.signIn('console', auditor)
    const { page } = visitor
    await page.getByRole('link', { name: 'Accounts', exact: true }).click()
    await openAccount(visitor, 'member@demo.test')
    expect(await page.getByRole('button', { name: 'Suspend' }).isDisabled()).toBe(true)
    expect(await page.getByText('You need the permission “Suspend accounts”.').count()).toBe(1)
    await inspect(visitor, 'console-account-auditor')
    await visitor.context.close()
  })
})
