import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needs } from '../../harness/needs.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { auditor, restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('webhooks in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
    world = await startAppWorld()
    const { accessToken: token } = await signIn(world.portico, 'owner@demo.test')
    const created = await world.portico.call('POST', '/web/v1/consumer/webhooks', {
      token,
      workspace: developmentIds.workspace,
      body: { url: `${receiver.url}/of-a-workspace`, eventTypes: ['*'] },
    })
    expect(created.status, created.text).toBe(200)
  })
  afterAll(async () => {
    await world?.stop()
    await receiver?.close()
  })

  test('an operator creates a webhook, tests it, sends the delivery again, and rotates the secret', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
    await page.getByRole('button', { name: 'Create a webhook' }).click()
    const creating = page.getByRole('dialog', { name: 'Create a webhook' })
    await creating.getByLabel('URL').fill(receiver.url)
    await creating.getByRole('button', { name: 'Create a webhook' }).click()
    await visitor.confirm()
    receiver.secrets = [await creating.getByLabel('Secret', { exact: true }).inputValue()]
    await creating.getByRole('button', { name: 'I have stored it' }).click()
    await inspect(visitor, 'console-webhooks-list')

    await page.getByRole('link', { name: receiver.url, exact: true }).click()
    const command = async (name: string, notice: string): Promise<void> => {
      await page.getByRole('button', { name, exact: true }).first().click()
      const dialog = page.getByRole('dialog', { name })
      await dialog.getByRole('button', { name, exact: true }).click()
      await page.getByText(notice).waitFor()
    }
    await command('Send a test event', 'Test event:')
    await expect.poll(() => receiver.received.filter(({ event }) => event !== undefined).length).toBe(1)
    await page.reload()
    const row = page.getByRole('row', { name: /Delivered/ })
    await row.getByText(/^200/).waitFor()
    await command('Send again', 'The delivery is sent again.')
    await expect.poll(() => receiver.received.filter(({ event }) => event !== undefined).length).toBe(2)
    await inspect(visitor, 'console-webhook')

    await page.getByRole('button', { name: 'Rotate the secret' }).click()
    const rotating = page.getByRole('dialog', { name: 'Rotate the secret' })
    await rotating.getByRole('button', { name: 'Rotate the secret' }).click()
    expect(await rotating.getByLabel('Secret', { exact: true }).inputValue()).not.toBe(receiver.secrets[0])
    await rotating.getByRole('button', { name: 'I have stored it' }).click()

    await page.getByRole('button', { name: 'Edit' }).click()
    const editing = page.getByRole('dialog', { name: 'Edit' })
    await editing.getByLabel('Event types').fill('transfer.completed recharge.completed')
    await editing.getByLabel('Description').fill('Of the data team')
    await editing.getByRole('button', { name: 'Edit' }).click()
    await page.getByText('The webhook is changed.').waitFor()
    await page.getByText('transfer.completed, recharge.completed').waitFor()
    await page.getByRole('button', { name: 'Replay events' }).click()
    const replaying = page.getByRole('dialog', { name: 'Replay events' })
    await replaying.getByLabel('Since').fill(new Date().toISOString().slice(0, 16))
    await replaying.getByRole('button', { name: 'Replay events' }).click()
    await page.getByText(/^Scheduled events: \d/).waitFor()

    await command('Disable', 'The webhook is disabled.')
    await page.getByText('The webhook is not active.').first().waitFor()
    await command('Enable', 'The webhook is enabled.')
    await command('Delete', 'The webhook is deleted.')
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor()
    await page.getByRole('link', { name: `${receiver.url}`, exact: true }).waitFor({ state: 'detached' })
    await visitor.context.close()
  })

  test('an operator disables a webhook of a workspace; an auditor cannot', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    const origin = new URL(receiver.url).origin
    await page.goto(`${world.url}/console/webhooks?workspaceId=${developmentIds.workspace}`)
    await page.getByRole('link', { name: origin }).click()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('dialog').getByLabel('Reason').fill('It leaks data')
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
    await visitor.confirm()
    await page.getByText('The webhook is disabled.').waitFor()
    await page.getByRole('button', { name: 'Allow to enable' }).waitFor()
    await visitor.context.close()

    await restrictChecker(world)
    const reader = await world.signIn('console', auditor)
    await reader.page.getByRole('link', { name: 'Webhooks', exact: true }).click()
    await reader.page.getByText('You need the permission “Manage webhooks”.').waitFor()
    await reader.page.getByRole('link', { name: origin }).first().click()
    await reader.page
      .getByText(/You need the permission/)
      .first()
      .waitFor()
    await inspect(reader, 'console-webhook-auditor')
    await reader.context.close()
  })
})
