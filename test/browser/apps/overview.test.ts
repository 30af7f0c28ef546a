import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needs } from '../../harness/needs.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld } from './world.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds

describe('the overview of the console in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let member: Session

  const transfer = async () => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '2.00', currency: 'USD' }
    const call = { token: member.accessToken, workspace, body }
    const answer = await world.portico.call('POST', '/web/v1/consumer/transfer/command/create', call)
    expect(answer.status, answer.text).toBe(200)
  }

  beforeAll(async () => {
    world = await startAppWorld(({ money }) => {
      money.transferApprovalFrom = { USD: '1.00' }
    })
    member = await signIn(world.portico, 'member@demo.test')
  })
  afterAll(() => world?.stop())

  test('an operator sees health, traffic and replicas, and new work without a reload', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByText('Nothing is waiting.').waitFor()
    expect(await page.getByRole('table', { name: 'Replicas' }).getByText('Ready', { exact: true }).count()).toBe(1)
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
    await page.getByText('Every domain runs in the gateway.').waitFor()
    await expect.poll(() => page.locator('figure canvas').count()).toBe(3)
    await inspect(visitor, 'console-overview-idle')

    await transfer()
    const card = page.getByRole('link', { name: /^Transfers to approve/ })
    await expect.poll(() => card.textContent(), { timeout: 60_000 }).toMatch(/^Transfers to approve1Oldest: /)
    expect(await page.getByText('Nothing is waiting.').count()).toBe(0)
    await page.emulateMedia({ colorScheme: 'dark' })
    await inspect(visitor, 'console-overview-dark')
    expect(await card.getAttribute('href')).toBe('/console/queues/transfers')
    await visitor.context.close()
  })

  test('a replica with an open circuit, a broken ledger and a lost neighbour are named in words', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.addInitScript(troubled)
    await page.reload()
    for (const text of ['Open: calls are refused', 'Half open: trying again', '2 discrepancies', 'Broken', 'gateway-2'])
      await page.getByText(text, { exact: text !== 'gateway-2' }).waitFor()
    const canaries = page.getByRole('table', { name: 'Canaries' })
    for (const text of ['Returned to the backend', '1%', '3 of 20 requests']) await canaries.getByText(text).waitFor()
    const differences = page.getByRole('table', { name: 'Shadow comparison' })
    for (const text of ['payments.list', 'items.amount', 'Another value']) await differences.getByText(text).waitFor()
    await page.getByText(/^Peak 1,600$/).waitFor()
    await expect.poll(() => page.locator('figure canvas').count()).toBe(3)
    await inspect(visitor, 'console-overview-trouble')
    await visitor.context.close()
  })

  test('a failed refresh keeps the data and shows the error', async () => {
    const visitor = await world.signIn('console', 'operator@demo.test')
    const { page } = visitor
    await page.getByRole('table', { name: 'Replicas' }).waitFor()
    await page.route('**/system/overview', (route) => route.abort())
    await page.getByRole('alert').waitFor({ timeout: 60_000 })
    expect(await page.getByRole('table', { name: 'Replicas' }).count()).toBe(1)
    await page.unroute('**/system/overview')
    await page.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => page.getByRole('alert').count()).toBe(0)
    await visitor.context.close()
  })

  test('an operator without gateway:observe sees what waits, and which permission is missing', async () => {
    await restrictChecker(
      world,
      (permission) => !['gateway:observe', 'transfer:approve', 'recharge:read'].includes(permission),
    )
    const visitor = await world.signIn('console', 'checker@demo.test')
    const { page } = visitor
    await page.getByText(/You need the permission “Observe the gateway”/).waitFor()
    const card = page.getByRole('link', { name: /^Transfers to approve/ })
    expect(await card.textContent()).toMatch(/^Transfers to approve1Oldest: .*You can read these, but not decide\.$/)
    expect(await page.getByRole('link', { name: /^Recharges to confirm/ }).count()).toBe(0)
    expect(await page.getByRole('heading', { name: 'Ledger' }).count()).toBe(0)
    await inspect(visitor, 'console-overview-unobserved')
    await visitor.context.close()
  })
})

/** Changes what the gateway answers: the driver's own request would lack the headers that only a page can send. */
const troubled = `(() => {
  const real = window.fetch
  window.fetch = async (...args) => {
    const response = await real(...args)
    if (!response.url.endsWith('/system/overview')) return response
    const body = await response.json()
    const at = body.data.at
    const replica = 'gateway-with-a-rather-long-name-7f9c6d5b8'
    Object.assign(body.data, {
      circuits: [
        { replica, backend: 'payments', circuit: 'open' },
        { replica, backend: 'fx', circuit: 'half open' },
      ],
      trials: [
        {
          replica,
          domains: ['payments', 'fx'],
          backend: 'in-process',
          canary: {
            url: 'https://payments-next.internal.example/base',
            ...{ isReturned: true, share: 0.01, named: 2, requests: 20, failures: 3 },
          },
          shadow: {
            url: 'https://payments-next.internal.example/base',
            share: 0.25,
            differences: [
              { operation: 'payments.list', kind: 'value', path: 'items.amount', count: 1200, firstAt: at, lastAt: at },
              { operation: 'payments.read', kind: 'schema', path: 'owner.addresses.*.street', count: 1, firstAt: at, lastAt: at },
            ],
          },
        },
      ],
      ledger: { checkedAt: at, wholeCheckedAt: null, discrepancies: 2, brokenRule: 'wallets-sum-to-postings' },
      audit: { verifiedAt: at, intact: false, head: '4711:' + 'a1'.repeat(32) },
      missing: [{ replica: 'gateway-2', lastSeenAt: at }],
      minutes: body.data.minutes.map((minute, index) => ({
        ...minute,
        requests: 60000 + 6000 * (index % 7),
        failed: 120 * (index % 5),
        p99Ms: index % 11 === 0 ? null : 20 + 3 * (index % 13),
      })),
    })
    return new Response(JSON.stringify(body), { status: response.status, headers: response.headers })
  }
})()`
