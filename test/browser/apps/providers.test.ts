import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { identityProvider } from '../../../src/config/providers/settings.ts'
import { needs } from '../../harness/needs.ts'
import { startProvider, type TestProvider } from '../../harness/provider.ts'
import { chromiumPath } from '../chromium.ts'
import { enterMailedCode, heading, pathOf, signedIn, signOut } from './people.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('an identity provider in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let provider: TestProvider
  beforeAll(async () => {
    const redirectUris = ['http://localhost/of-the-gateway']
    provider = await startProvider({ redirectUris })
    const { issuer, clientId, clientSecret } = provider
    provider.person = { sub: 'person-1', acr: 'mfa', amr: ['pwd'], claims: { email: 'owner@company.test' } }
    world = await startAppWorld((settings) => {
      redirectUris[0] = `${settings.publicUrl}/identity-providers/consumer/company/callback`
      // A step-up of each command, so that the second one asks again.
      settings.mfa.binding = 'purpose'
      settings.login.resendMs = 0
      settings.portals.CONSUMER.links.providerCallback = '/portal/sign-in/provider'
      settings.portals.CONSUMER.identityProviders = [
        identityProvider.parse({
          ...{ id: 'company', name: 'Company', issuer, clientId, clientSecret, provisioning: 'none' },
          stepUp: { acrValues: ['mfa'], accepts: ['mfa'] },
        }),
      ]
    })
    // Its clients know the port of the gateway from now on.
    await provider.rotateKeys()
  })
  afterAll(async () => {
    await world?.stop()
    await provider?.close()
  })

  test('a person links the account, confirms a command there, signs in with it and unlinks it', async () => {
    const email = 'owner@demo.test'
    const visitor = await world.signIn('portal', email)
    const { page } = visitor
    await page.goto(pathOf(world, 'portal', '/security/providers'))
    await inspect(visitor, 'portal-security-providers-none')
    await page.getByRole('button', { name: 'Link Company' }).click()
    await enterMailedCode(world, visitor, email)
    await page.getByRole('row', { name: /Company/ }).waitFor()
    expect(page.url()).toBe(pathOf(world, 'portal', '/security/providers'))
    visitor.complaints.splice(0)
    await inspect(visitor, 'portal-security-providers-linked')

    await page.goto(pathOf(world, 'portal', '/security/authenticator'))
    await page.getByRole('button', { name: 'Set up an app' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Confirm at Company' }).waitFor()
    visitor.complaints.splice(0)
    await inspect(visitor, 'portal-step-up-provider')
    await page.getByRole('dialog').getByRole('button', { name: 'Confirm at Company' }).click()
    await page.getByText('Confirmed. Now send your command again.').waitFor()
    expect(page.url()).toBe(pathOf(world, 'portal', '/security/authenticator'))
    await page.getByRole('button', { name: 'Set up an app' }).click()
    await page.locator('.account-secret').waitFor()

    await signOut(visitor)
    await page.getByRole('button', { name: 'Sign in with Company' }).click()
    await enterMailedCode(world, visitor, email, 'login-code')
    await signedIn(visitor)
    expect(page.url()).toBe(pathOf(world, 'portal', '/security/authenticator'))

    await page.goto(pathOf(world, 'portal', '/security/providers'))
    await page.getByRole('button', { name: 'Unlink' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click()
    await enterMailedCode(world, visitor, email)
    await page.getByText('Your account is linked to no identity provider.').waitFor()
    await visitor.context.close()
  })

  test('a person without an account is refused, and returns to the sign-in page', async () => {
    provider.person = { sub: 'stranger', claims: {} }
    const visitor = await world.visit('portal')
    await visitor.page.getByRole('button', { name: 'Sign in with Company' }).click()
    await visitor.page.getByRole('alert').waitFor()
    visitor.complaints.splice(0)
    await inspect(visitor, 'portal-sign-in-provider-refused')
    await visitor.page.getByRole('button', { name: 'Try again' }).click()
    await heading(visitor, 'Sign in')
    await visitor.context.close()
  })
})
