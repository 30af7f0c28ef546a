import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { chromiumPath } from '../chromium.ts'
import { type AppWorld, startAppWorld, type Visitor } from './world.ts'

/** Clients choose the ids of their requests. */
describe('requests of an attacker in the console', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let operator: Visitor
  beforeAll(async () => {
    world = await startAppWorld()
    operator = await world.signIn('console', 'operator@demo.test')
  })
  afterAll(() => world?.stop())

  test.each(['%', '%41', '..', 'a/../b', 'a.b', '?x&y#z+', '%2e%2e', 'a%2Fb'])(
    'observations.readRequest 200: the list finds a request named %j, and its page explains it, also after a reload',
    async (requestId) => {
      const { page, complaints } = operator
      await world.portico.call('GET', '/web/v1/consumer/wallets', { headers: { 'x-request-id': requestId } })
      await page.goto(`${world.url}/console/requests?${new URLSearchParams({ requestId })}`)
      await page.getByRole('table', { name: 'Requests' }).getByRole('link').first().click({ timeout: 20_000 })
      const shown = page.getByRole('main').locator('code').first()
      const stages = page.getByRole('list', { name: 'Stages' }).first()
      await expect.poll(() => shown.textContent()).toBe(requestId)
      await stages.waitFor({ timeout: 20_000 })
      await page.reload()
      await expect.poll(() => shown.textContent()).toBe(requestId)
      await stages.waitFor({ timeout: 20_000 })
      expect(complaints).toEqual([])
    },
  )
})
