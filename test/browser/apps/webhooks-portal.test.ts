import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { chromiumPath } from '../chromium.ts'
import { heading } from './people.ts'
import { button, done, open, submit } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

/** A delivery can wait for the next run of the job. */
const late = { timeout: 60_000 }

describe('webhooks in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Visitor
  let receiver: Receiver
  beforeAll(async () => {
    receiver = await startReceiver()
    world = await startAppWorld()
    owner = await world.signIn('portal', 'owner@demo.test')
  })
  afterAll(async () => {
    await world?.stop()
    await receiver?.close()
  })

  const received = (type: string) => receiver.received.filter(({ event }) => event?.type === type)
  /** The log is live. */
  const logged = async (text: string) => {
    await expect
      .poll(() => owner.page.getByRole('table', { name: 'Deliveries' }).allTextContents(), late)
      .toEqual([expect.stringContaining(text)])
  }

  test('a webhook delivers a test, logs a failure, sends it again, and replays events', async () => {
    await open(owner, '/webhooks', 'Webhooks')
    await owner.page.getByText('This workspace has no webhooks.').waitFor()
    await owner.page.getByRole('link', { name: 'Create a webhook' }).click()
    await heading(owner, 'Create a webhook')
    await owner.page.getByLabel('URL').fill(receiver.url)
    await owner.page.getByLabel('Description').fill('Bookkeeping')
    await owner.page.getByLabel('All events that you can read').uncheck()
    await owner.page.getByLabel('role.created', { exact: true }).check()
    await inspect(owner, 'portal-new-webhook')
    await button(owner, 'Create a webhook').click()
    expect(await done(owner, 'The webhook has been created.')).toBe(true)
    receiver.secrets.push(await owner.page.getByLabel('Signing secret').inputValue())
    await inspect(owner, 'portal-created-webhook')
    await owner.page.getByRole('link', { name: 'Show the webhook' }).click()
    await heading(owner, receiver.url)

    await button(owner, 'Send a test').click()
    await submit(owner, 'Send a test')
    await done(owner, 'The test has been scheduled.')
    await expect.poll(() => received('webhook.test'), late).toHaveLength(1)
    await logged('Delivered')
    await owner.page.getByText('200', { exact: true }).first().waitFor()
    receiver.respond = (_request, response) => {
      response.statusCode = 500
      response.end('<b>broken</b>')
    }
    await button(owner, 'Send again: webhook.test').click()
    await submit(owner, 'Send again')
    await done(owner, 'The event is being sent again.')
    await logged('500')
    await owner.page.getByText('Body').first().click()
    await owner.page.getByText('<b>broken</b>').waitFor()
    await inspect(owner, 'portal-webhook')
    receiver.respond = (_request, response) => void response.end('thanks')
  })

  test('its secret is rotated, it is edited, disabled, enabled and deleted', async () => {
    await button(owner, 'Rotate the secret').click()
    await submit(owner, 'Rotate the secret')
    await done(owner, 'The secret has been rotated.')
    expect(await owner.page.getByLabel('Signing secret').inputValue()).not.toBe(receiver.secrets[0])
    receiver.secrets.push(await owner.page.getByLabel('Signing secret').inputValue())
    await button(owner, 'Edit').click()
    await owner.page.locator('.dialog').getByLabel('Description').fill('Ledger')
    await inspect(owner, 'portal-edit-webhook')
    await submit(owner, 'Edit')
    await done(owner, 'The webhook has been saved.')
    await owner.page.getByText('Ledger').waitFor()
    for (const [command, notice] of [
      ['Disable', 'The webhook is disabled.'],
      ['Enable', 'The webhook is active.'],
    ] as const) {
      await button(owner, command).first().click()
      await submit(owner, command)
      await done(owner, notice)
    }

    await open(owner, '/roles/new', 'Create a role')
    await owner.page.getByLabel('Name', { exact: true }).fill('Reader')
    await button(owner, 'Create a role').click()
    await heading(owner, 'Reader')
    await expect.poll(() => received('role.created'), late).toHaveLength(1)
    const [created] = received('role.created')
    await open(owner, '/webhooks', 'Webhooks')
    await owner.page.getByRole('link', { name: receiver.url }).click()
    await button(owner, 'Replay events').click()
    await submit(owner, 'Replay events')
    await done(owner, 'The replay has been scheduled.')
    // A replay sends the roles that existed before, too.
    await expect.poll(() => received('role.created').filter(({ id }) => id === created?.id).length, late).toBe(2)
  })

  test('a member who may only read sees the log, not the commands', async () => {
    const member = await world.signIn('portal', 'member@demo.test')
    await open(member, '/webhooks', 'Webhooks')
    await member.page.getByRole('link', { name: receiver.url }).click()
    await member.page.getByText('Your role does not have the permission “Manage webhooks”.').waitFor()
    await member.page.getByRole('table', { name: 'Deliveries' }).waitFor()
    expect(await member.page.getByRole('button', { name: /Send|Delete|Rotate|Edit/ }).count()).toBe(0)
    await inspect(member, 'portal-webhook-member')
    await member.context.close()

    await button(owner, 'Delete').click()
    await submit(owner, 'Delete')
    await done(owner, 'The webhook has been deleted.')
    await heading(owner, 'Webhooks')
  })
})
