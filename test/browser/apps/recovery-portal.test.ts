import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { data, linkToken, newcomer, newEmail, otherPassword } from '../../harness/identity.ts'
import { needs } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { heading } from './people.ts'
import { button, done, open, submit } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const { workspace } = developmentIds

describe('after the recovery of an account', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Visitor
  const invitee = newEmail()
  beforeAll(async () => {
    world = await startAppWorld()
    await recoverAnOwner()
    owner = await world.signIn('portal', 'owner@demo.test')
  })
  afterAll(() => world?.stop())

  /** Another owner makes a role, a member, an API key and an invitation, and then resets the password. */
  const recoverAnOwner = async (): Promise<void> => {
    const { portico } = world
    const { accessToken: token } = await signIn(portico)
    const invite = async (by: (path: string, body: object) => Promise<unknown>, email: string, roleBizId: string) =>
      by('/invitations', { email, roleBizId })
    const first = async (path: string, body: object) =>
      data(await portico.call('POST', `/web/v1/consumer${path}`, { token, workspace, body }))
    const [role] = data(await portico.call('GET', '/web/v1/consumer/roles', { token, workspace })).filter(
      ({ roleType }: { roleType: { code: string } }) => roleType.code === 'OWNER',
    )
    const join = async (by: typeof first, roleBizId: string) => {
      const person = await newcomer(portico)
      await invite(by, person.email, roleBizId)
      const [{ bizId: invitationBizId }] = data(await person.by.get('/profile/invitations', person.token))
      data(await person.by.post('/profile/invitations/accept', { invitationBizId }, person.token))
      return person
    }
    const other = await join(first, role.bizId)
    const second = async (path: string, body: object) =>
      data(await other.by.post(path, body, other.token, { 'x-workspace-id': workspace }))
    const { bizId } = await second('/roles', { roleName: 'Theirs', permissionCodes: ['wallet:read'] })
    await join(second, bizId)
    await second('/api-keys', { apiKeyName: 'Theirs', permissionCodes: ['wallet:read'] })
    await invite(second, invitee, bizId)
    data(await other.by.post('/auth/password/forgot', { email: other.email, turnstileToken: '' }))
    const link = linkToken((await portico.mailTo(other.email, 'password-reset')).text)
    data(await other.by.post('/auth/password/reset', { token: link, newPassword: otherPassword }))
  }

  test('an owner sees everything that the recovery suspended, and restores it', async () => {
    await open(owner, '/roles', 'Roles')
    await heading(owner, 'Roles')
    await owner.page.getByRole('heading', { name: 'Suspended permissions' }).waitFor()
    await inspect(owner, 'portal-roles-suspended')
    await button(owner, 'Restore permissions: Theirs').click()
    await submit(owner, 'Restore permissions')
    expect(await done(owner, 'The permissions of Theirs have been restored.')).toBe(true)
    await owner.page.getByRole('heading', { name: 'Suspended permissions' }).waitFor({ state: 'detached' })

    await open(owner, '/members', 'Members')
    const suspended = owner.page.getByRole('row').filter({ hasText: 'Suspended' })
    await suspended.first().waitFor()
    await inspect(owner, 'portal-members-suspended')
    const before = await suspended.count()
    await button(owner, 'Restore: Nora Newcomer').first().click()
    await submit(owner, 'Restore')
    await done(owner, 'Nora Newcomer has been restored.')
    await expect.poll(() => suspended.count()).toBe(before - 1)

    await open(owner, '/invitations', 'Invitations')
    await inspect(owner, 'portal-invitations-suspended')
    await button(owner, `Confirm: ${invitee}`).click()
    await submit(owner, 'Confirm')
    await done(owner, `The invitation to ${invitee} has been confirmed.`)
    await owner.page.getByRole('row', { name: invitee }).getByText('Pending').waitFor()

    await open(owner, '/api-keys', 'API keys')
    await button(owner, 'Enable: Theirs').click()
    await owner.page.getByText('Its creator was recovered after a theft.').waitFor()
    await submit(owner, 'Enable')
    await done(owner, 'The key Theirs is active.')
  })
  test('long names wrap, and the pages are readable in dark colors', async () => {
    const roleName = 'Accountantwithaverylongname'.repeat(2)
    await open(owner, '/roles/new', 'Create a role')
    await owner.page.getByLabel('Name', { exact: true }).fill(roleName)
    await owner.page.getByLabel('Description').fill('Sees every wallet and every order of the workspace. '.repeat(4))
    await owner.page.getByLabel('View wallets', { exact: true }).check()
    await button(owner, 'Create a role').click()
    await heading(owner, roleName)
    await owner.page.emulateMedia({ colorScheme: 'dark' })
    await inspect(owner, 'portal-role-dark')
    for (const path of [
      '/roles',
      '/members',
      '/invitations',
      '/api-keys',
      '/api-keys/new',
      '/webhooks/new',
      '/workspace',
    ]) {
      await owner.go(path)
      await inspect(owner, `portal${path.replaceAll('/', '-')}-dark`)
    }
  })
})
