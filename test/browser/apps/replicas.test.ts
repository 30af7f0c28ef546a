import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { send } from '../../harness/http.ts'
import { needs, needsPostgres, needsRedis } from '../../harness/needs.ts'
import type { TestPostgres } from '../../harness/postgres.ts'
import { seededPostgres } from '../../harness/prepared-postgres.ts'
import { type PorticoProcess, startProcess } from '../../harness/process.ts'
import { startRedis, type TestRedis } from '../../harness/redis.ts'
import { chromiumPath } from '../chromium.ts'
import { heading, pathOf } from './people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const postgres: TestPostgres | undefined = chromiumPath === null ? undefined : await seededPostgres()
const redis: TestRedis | undefined = chromiumPath === null ? undefined : await startRedis()

const requirements = {
  ...needs(chromiumPath, 'Chromium is not installed'),
  ...needsPostgres(postgres),
  ...needsRedis(redis),
}

describe('two replicas in the console', requirements, () => {
  let world: AppWorld
  let other: PorticoProcess
  let operator: Visitor
  beforeAll(async () => {
    const variables = { DATABASE_URL: postgres?.url ?? '', REDIS_URL: redis?.url ?? '' }
    world = await startAppWorld(undefined, { variables })
    // Has another name, because it is another process.
    other = await startProcess({ ...variables, PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'warn' })
    operator = await world.signIn('console', 'operator@demo.test')
  })
  afterAll(async () => {
    await other?.stop()
    await world?.stop()
    await redis?.stop()
    await postgres?.stop()
  })

  const nameOf = (process: { pid?: number | undefined }) => new RegExp(`-${process.pid}$`)
  const rowOf = ({ page }: Visitor, table: string, name: RegExp) => {
    const cell = page.locator('th, td').filter({ hasText: name })
    return page.getByRole('table', { name: table }).getByRole('row').filter({ has: cell })
  }

  test('the overview shows both, each with its readiness', async () => {
    await heading(operator, 'Overview')
    for (const process of [globalThis.process, other.child]) {
      const row = rowOf(operator, 'Replicas', nameOf(process))
      await row.getByText('Ready', { exact: true }).waitFor({ timeout: 60_000 })
      await row.getByText('Gateway', { exact: true }).waitFor()
    }
    const rows = operator.page.getByRole('table', { name: 'Replicas' }).locator('tbody tr')
    await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(2)
    await inspect(operator, 'console-overview-replicas')
  })

  test('the requests of both appear in one list, and each of them shows its stages', async () => {
    const { page } = operator
    await page.goto(pathOf(world, 'console', '/requests'))
    await heading(operator, 'Requests')
    const sent = [
      { url: world.url, name: nameOf(process), requestId: randomUUID() },
      { url: other.url, name: nameOf(other.child), requestId: randomUUID() },
    ]
    for (const { url, requestId } of sent) {
      expect(other.child.exitCode, other.output()).toBeNull()
      const answer = await send(url, 'GET', '/web/v1/consumer/exports', { headers: { 'x-request-id': requestId } })
      expect(answer.status).toBe(401)
    }
    for (const { name } of sent)
      await rowOf(operator, 'Requests', name).filter({ hasText: 'exports.list' }).waitFor({ timeout: 60_000 })
    await inspect(operator, 'console-requests-replicas')
    for (const { name, requestId } of sent) {
      // A busy replica can answer too late once.
      const refusals = async (): Promise<number> => {
        await page.goto(pathOf(world, 'console', `/requests/decisions?requestId=${requestId}`))
        await page.locator('h1').waitFor()
        await expect.poll(() => page.locator('.loading').count()).toBe(0)
        return page.getByText('✕ Refused').count()
      }
      await vi.waitUntil(refusals, { timeout: 60_000 })
      await page.getByText(name).first().waitFor()
    }
  })

  test('a replica that was killed is named as missing, on both pages', async () => {
    const { page } = operator
    const missing = page.locator('.notice').getByText(new RegExp(`-${other.child.pid},`))
    other.child.kill('SIGKILL')
    await page.goto(pathOf(world, 'console', '/requests'))
    await missing.first().waitFor({ timeout: 60_000 })
    await page.goto(pathOf(world, 'console', '/'))
    await heading(operator, 'Overview')
    await page.getByRole('table', { name: 'Replicas' }).waitFor()
    await inspect(operator, 'console-overview-missing-replica')
    await expect.poll(() => page.getByRole('table', { name: 'Replicas' }).locator('tbody tr').count()).toBe(1)
    await missing.first().waitFor()
  })
})
