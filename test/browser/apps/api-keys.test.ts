import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needs } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('API keys in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  beforeAll(async () => {
    world = await startAppWorld()
    const { accessToken: token } = await signIn(world.portico, 'owner@demo.test')
    const created = await world.portico.call('POST', '/web/v1/consumer/api-keys', {
      token,
      workspace: developmentIds.workspace,
      body: { apiKeyName: 'Payroll', permissionCodes: ['wallet:read'] },
    })
    expect(created.status, created.text).toBe(200)
  })
  afterAll(() => world?.stop())

  test('one operator creates a key of operators, another one enables and deletes it', async () => {
    const creator = await world.signIn('console', 'operator@demo.test')
    await creator.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await creator.page.getByRole('link', { name: 'API keys of operators', exact: true }).click()
    await creator.page.getByText('No API keys match.').waitFor()
    await creator.page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = creator.page.getByRole('dialog', { name: 'Create a key' })
    await dialog.getByLabel('Name').fill('SIEM')
    await dialog.getByLabel('Addresses').fill('192.0.2.0/24\n198.51.100.7')
    await inspect(creator, 'console-operator-key-create')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    await creator.confirm()
    const secret = await dialog.getByLabel('Secret').inputValue()
    expect(secret).toMatch(/^pok_/)
    await dialog.getByRole('button', { name: 'Copy' }).click()
    await creator.page.getByText('Copied').waitFor()
    expect(await creator.page.evaluate(() => navigator.clipboard.readText())).toBe(secret)
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await creator.page.getByText('You created this key.').waitFor()
    expect(await creator.page.getByRole('button', { name: 'Enable' }).isDisabled()).toBe(true)
    await inspect(creator, 'console-operator-keys-own')
    await creator.context.close()

    const enabler = await world.signIn('console', auditor)
    const { page } = enabler
    await page.getByRole('link', { name: 'API keys of operators', exact: true }).click()
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('For the audit')
    await page.getByRole('dialog').getByRole('button', { name: 'Enable' }).click()
    await enabler.confirm()
    await page.getByText('The key is enabled.').waitFor()
    await page.getByRole('button', { name: 'Disable' }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('Not needed')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The key is deleted.').waitFor()
    await enabler.context.close()
  })

  test('a key of operators can belong to a client certificate, and then has no secret', async () => {
    const creator = await world.signIn('console', 'operator@demo.test')
    const { page } = creator
    await page.getByRole('link', { name: 'API keys of operators', exact: true }).click()
    await page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create a key' })
    await dialog.getByLabel('Name').fill('Log collector')
    await dialog.getByLabel('Credential').selectOption('Signed requests (JWT)')
    await dialog.getByLabel('Public key').fill('no key')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    await dialog.getByText('This is not a public key as a JWK.').waitFor()
    await dialog.getByLabel('Credential').selectOption('Client certificate (TLS)')
    const thumbprint = hash('sha256', 'a certificate', 'base64url')
    await dialog.getByLabel('Thumbprint').fill(thumbprint)
    await inspect(creator, 'console-operator-key-certificate')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    await creator.confirm()
    await page.getByText('The key is created.').waitFor()
    const key = page.getByRole('listitem').filter({ hasText: 'Log collector' })
    await key.getByText(thumbprint).waitFor()
    await key.getByText('Client certificate', { exact: true }).waitFor()
    expect(await key.getByText(/^pok_\w+$/).count()).toBe(1)
    await inspect(creator, 'console-operator-keys-certificate')
    await creator.context.close()
  })

  test('an operator disables and enables a key of a workspace; an auditor does neither', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'API keys', exact: true }).click()
    await page.getByRole('heading', { name: /Payroll/ }).waitFor()
    await inspect(visitor, 'console-api-keys-list')
    for (const [command, notice] of [
      ['Disable', 'The key is disabled.'],
      ['Enable', 'The key is enabled.'],
    ] as const) {
      await page.getByRole('button', { name: command }).click()
      await page.getByRole('dialog').getByLabel('Reason').fill('A check')
      await page.getByRole('dialog').getByRole('button', { name: command }).click()
      if (command === 'Disable') await visitor.confirm()
      await page.getByText(notice).waitFor()
    }
    await page.goto(`${world.url}/console/api-keys?status=DELETED`)
    await page.getByText('No API keys match.').waitFor()
    await visitor.context.close()

    await restrictChecker(world)
    const reader = await world.signIn('console', auditor)
    expect(await reader.page.getByRole('link', { name: 'API keys', exact: true }).count()).toBe(0)
    await reader.page.getByRole('link', { name: 'API keys of operators', exact: true }).click()
    await reader.page.getByText('You need the permission “Manage operators’ API keys”.').first().waitFor()
    expect(await reader.page.getByRole('button', { name: 'Create a key' }).isDisabled()).toBe(true)
    await inspect(reader, 'console-operator-keys-auditor')
    await reader.context.close()
  })
})
