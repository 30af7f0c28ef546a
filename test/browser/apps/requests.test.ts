import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../harness/needs.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

describe('the requests of the console in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let operator: Session

  /** A command of the other portal, which the gateway refuses. Returns its id. */
  const refusedCall = async (): Promise<string> => {
    const requestId = randomUUID()
    const call = { token: operator.accessToken, headers: { 'x-request-id': requestId }, body: {} }
    const answer = await world.portico.call('POST', '/web/v1/consumer/transfer/command/create', call)
    expect(answer.status).toBe(401)
    return requestId
  }

  beforeAll(async () => {
    world = await startAppWorld()
    operator = await signIn(world.portico, 'operator@demo.test')
  })
  afterAll(() => world?.stop())

  test('a refused call appears live, and its stages show where it was refused', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    const table = page.getByRole('table', { name: 'Requests' })
    const rows = table.getByRole('row').filter({ hasText: 'transfers.create' })
    await table.waitFor()
    expect(await rows.count()).toBe(0)
    const requestId = await refusedCall()
    await rows.first().waitFor()
    expect(await rows.first().textContent()).toContain('Refused')
    await inspect(visitor, 'console-requests-live')

    await rows.first().getByRole('link').click()
    await page.getByText(requestId).first().waitFor()
    const stages = page.getByRole('list', { name: 'Stages' }).getByRole('listitem')
    await stages.first().waitFor()
    const verdicts = await stages.locator('.requests-verdict').allTextContents()
    const refused = verdicts.indexOf('✕ Refused')
    expect(refused).toBeGreaterThan(0)
    expect(new Set(verdicts.slice(0, refused))).toEqual(new Set(['✓ Passed']))
    expect(new Set(verdicts.slice(refused + 1))).toEqual(new Set(['– Not reached']))
    await inspect(visitor, 'console-request-refused')
    const audit = page.getByRole('link', { name: 'Audit entries of this request' })
    expect(await audit.getAttribute('href')).toBe(`/console/audit?requestId=${requestId}`)
    await visitor.context.close()
  })

  test('the URL keeps the filters, and a paused list stands still', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.clock.install()
    await page.reload()
    const countWhile = async (act: () => Promise<unknown>) => {
      let asked = 0
      const count = (request: { url(): string }) => {
        if (request.url().includes('/system/requests')) asked += 1
      }
      page.on('request', count)
      await act()
      await page.evaluate('fetch(location.href)')
      page.off('request', count)
      return asked
    }
    const first = await refusedCall()
    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    await page.getByLabel('Outcome').selectOption('Refused')
    await page.getByLabel('Operation').fill('transfers.create')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    const table = page.getByRole('table', { name: 'Requests' })
    await expect.poll(() => new URL(page.url()).search).toBe('?outcome=refused&operation=transfers.create')
    const isOnly = async () => {
      const texts = await table.locator('tbody tr').allTextContents()
      return texts.length > 0 && texts.every((text) => text.includes('transfers.create'))
    }
    await expect.poll(isOnly).toBe(true)

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused. New requests do not appear.').waitFor()
    const shown = await table.locator('tbody tr').count()
    await refusedCall()
    expect(await countWhile(() => page.clock.fastForward(10_000))).toBe(0)
    expect(await table.locator('tbody tr').count()).toBe(shown)
    await page.getByRole('button', { name: 'Pause' }).click()
    await expect.poll(() => table.locator('tbody tr').count()).toBe(shown + 1)

    await page.reload()
    await expect.poll(isOnly).toBe(true)
    expect(await page.getByLabel('Operation').inputValue()).toBe('transfers.create')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('')
    await page.getByLabel('Request id or idempotency key').fill(first)
    await page.keyboard.press('Enter')
    await expect.poll(() => table.locator('tbody tr').count()).toBe(1)

    // These requests do not prolong the session, so a page without a user goes on.
    await page.clock.fastForward(301_000)
    await expect.poll(() => countWhile(() => page.clock.fastForward(10_000))).toBeGreaterThan(0)
    await visitor.context.close()
  })

  test('an empty list, an invalid filter and an unknown request say what is wrong', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.goto(`${world.url}/console/requests?code=NO.SUCH_CODE`)
    await page.getByText('No requests match.').waitFor()
    await inspect(visitor, 'console-requests-empty')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.goto(`${world.url}/console/requests?accountId=nobody`)
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').getByRole('button', { name: 'Try again' }).count()).toBe(1)
    await page.goto(`${world.url}/console/requests/decisions?requestId=${randomUUID()}`)
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('list', { name: 'Stages' }).count()).toBe(0)
    await visitor.context.close()
  })

  test('an operator without gateway:observe reads which permission the page needs', async () => {
    await restrictChecker(world, (permission) => permission !== 'gateway:observe')
    const visitor = await world.signIn('console', 'checker@demo.test')
    const { page } = visitor
    expect(await page.getByRole('link', { name: 'Requests', exact: true }).count()).toBe(0)
    await page.goto(`${world.url}/console/requests`)
    await page.getByText(/It needs the permission “Observe the gateway”\./).waitFor()
    await inspect(visitor, 'console-requests-refused')
    await visitor.context.close()
  })
})
