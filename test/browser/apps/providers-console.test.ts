import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { identityProvider } from '../../../src/config/providers/settings.ts'
import { needs } from '../../harness/needs.ts'
import { startProvider, type TestProvider } from '../../harness/provider.ts'
import { chromiumPath } from '../chromium.ts'
import { heading, pathOf, signedIn, signOut } from './people.ts'
import { done } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

describe('an identity provider of operators in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  const email = 'paula@company.test'
  let world: AppWorld
  let provider: TestProvider
  let operator: Visitor
  let checker: Visitor
  beforeAll(async () => {
    const redirectUris = ['http://localhost/of-the-gateway']
    provider = await startProvider({ redirectUris })
    const { issuer, clientId, clientSecret } = provider
    provider.person = { sub: 'paula', acr: 'mfa', claims: { email, email_verified: true, name: 'Paula Person' } }
    world = await startAppWorld((settings) => {
      redirectUris[0] = `${settings.publicUrl}/identity-providers/system/company/callback`
      settings.portals.SYSTEM.links.providerCallback = '/console/sign-in/provider'
      settings.portals.SYSTEM.identityProviders = [
        identityProvider.parse({
          ...{ id: 'company', name: 'Company', issuer, clientId, clientSecret, provisioning: 'invited' },
          // Without it, operators would enter a second factor of the gateway, too.
          ...{ trustsMfa: ['mfa'], stepUp: { acrValues: ['mfa'], accepts: ['mfa'] }, passwordSignIn: true },
        }),
      ]
    })
    // Its clients know the port of the gateway from now on.
    await provider.rotateKeys()
    operator = await world.signIn('console', 'operator@demo.test')
    checker = await world.signIn('console', 'checker@demo.test')
  })
  afterAll(async () => {
    await world?.stop()
    await provider?.close()
  })

  async function signInAtCompany(visitor: Visitor): Promise<void> {
    await visitor.page.getByRole('button', { name: 'Sign in with Company' }).click()
    await signedIn(visitor)
    // The provider is another origin.
    visitor.complaints.splice(0)
  }

  test('a person is invited, signs in at the provider, and gets permissions from two operators', async () => {
    const stranger = await world.visit('console')
    await inspect(stranger, 'console-sign-in-provider')
    await stranger.page.getByRole('button', { name: 'Sign in with Company' }).click()
    await stranger.page.getByRole('alert').waitFor()
    await stranger.context.close()

    const { page } = operator
    await page.goto(pathOf(world, 'console', '/operators'))
    await page.getByRole('button', { name: 'Invite a person' }).click()
    const inviting = page.getByRole('dialog', { name: 'Invite a person' })
    await inviting.getByLabel('Id of the identity provider').fill('company')
    await inviting.getByLabel('Email').fill(email)
    await inspect(operator, 'console-operators-invite')
    await inviting.getByRole('button', { name: 'Invite a person' }).click()
    await operator.confirm()
    await page.getByText(new RegExp(email)).first().waitFor()

    const person = await world.visit('console')
    await signInAtCompany(person)
    expect(person.page.url()).toBe(pathOf(world, 'console', '/'))
    expect(await person.page.getByRole('link', { name: 'Accounts', exact: true }).count()).toBe(0)
    await inspect(person, 'console-without-permissions')

    await page.goto(pathOf(world, 'console', '/operators'))
    await page.getByRole('link', { name: email }).click()
    await page.getByRole('button', { name: 'Propose permissions' }).click()
    const proposing = page.getByRole('dialog', { name: 'Propose permissions' })
    for (const name of ['View accounts', 'Suspend accounts']) await proposing.getByLabel(name, { exact: true }).check()
    await proposing.getByLabel('Reason').fill('joins the support')
    await proposing.getByRole('button', { name: 'Propose permissions' }).click()
    await done(operator, 'The proposal waits for another operator.')
    await checker.page.goto(pathOf(world, 'console', '/queues/proposals'))
    await checker.page.getByRole('link', { name: 'Permissions' }).click()
    await checker.page.getByRole('radio', { name: 'Confirm' }).check()
    await checker.page.getByRole('button', { name: 'Confirm', exact: true }).click()
    await done(checker, 'The proposal is confirmed.')

    await person.page.reload()
    await person.page.getByRole('link', { name: 'Accounts', exact: true }).click()
    await heading(person, 'Accounts')
    await signOut(person)
    await signInAtCompany(person)
    await heading(person, 'Accounts')
    await person.context.close()
  })

  test('the person confirms a command at the provider, and sends it again', async () => {
    const person = await world.visit('console')
    const { page } = person
    await signInAtCompany(person)
    await page.goto(pathOf(world, 'console', '/accounts'))
    await page.getByRole('link', { name: 'member@demo.test' }).click()
    const suspend = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Suspend', exact: true }).click()
      const dialog = page.getByRole('dialog', { name: 'Suspend' })
      await dialog.getByLabel('Reason').fill('a stolen phone')
      await dialog.getByRole('button', { name: 'Suspend', exact: true }).click()
    }
    await suspend()
    const atCompany = page.getByRole('button', { name: 'Confirm at Company' })
    await atCompany.waitFor()
    await inspect(person, 'console-step-up-provider')
    const account = page.url()
    await atCompany.click()
    await page.getByText('Confirmed. Now send your command again.').waitFor()
    expect(page.url()).toBe(account)
    await suspend()
    await page.getByText('Suspended', { exact: true }).first().waitFor()
    person.complaints.splice(0)
    await inspect(person, 'console-suspended-after-provider')
    await person.context.close()
  })
})
