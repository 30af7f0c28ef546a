import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs, needsRedis } from '../harness/needs.ts'
import { type PatroniCluster, patroniIsInstalled, startPatroni } from '../harness/patroni.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { startRedis } from '../harness/redis.ts'
import { seed } from '../harness/template.ts'
import { type Attempt, burst, createClient, signedIn } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'

const redis = await startRedis()
afterAll(() => redis?.stop())

const requirements = {
  ...needs(patroniIsInstalled(), 'Patroni, etcd or HAProxy is not installed'),
  ...needsRedis(redis),
}

describe('Patroni replaces a lost primary', requirements, () => {
  let cluster: PatroniCluster
  let replicas: PorticoProcess[] = []

  beforeAll(async () => {
    cluster = await startPatroni()
    await seed({ DATABASE_URL: cluster.url })
    const variables = { DATABASE_URL: cluster.url, REDIS_URL: redis?.url ?? '', PORTICO_RATE_LIMIT_SCALE: '1000' }
    replicas = [await startProcess(variables), await startProcess(variables)]
  })
  afterAll(async () => {
    for (const each of replicas) await each.stop()
    await cluster?.stop()
  })

  test('the machine of the primary dies under load: acknowledged transfers exist once on the new primary', async () => {
    const user = await signedIn(createClient(() => replicas))
    const lost = await cluster.primary()
    const run = burst(user, 8)
    const acknowledged = () => run.attempts.filter(({ status }) => status === 200).length
    await expect.poll(acknowledged, { timeout: 60_000 }).toBeGreaterThan(100)
    const killedAt = performance.now()
    await lost?.kill()
    await expect.poll(() => cluster.primary(), { timeout: 90_000 }).toBeDefined()
    const [promotedAt, before] = [performance.now(), acknowledged()]
    await expect.poll(acknowledged, { timeout: 60_000 }).toBeGreaterThan(before)
    const servedAt = performance.now()
    await expect.poll(acknowledged, { timeout: 60_000 }).toBeGreaterThan(before + 100)
    const attempts: Attempt[] = await run.stop()
    const survivor = await cluster.primary()
    expect(survivor?.name).not.toBe(lost?.name)
    const transfers = await settleAll(user, attempts)
    await checkBook({ url: survivor?.url ?? '' }, transfers)
    const since = (at: number) => `${((at - killedAt) / 1_000).toFixed(1)} s`
    const refused = attempts.filter(({ status }) => status !== 200).length
    process.stdout.write(
      `new primary after ${since(promotedAt)}, first transfer after ${since(servedAt)}, ${transfers} transfers, ${refused} refused and repeated\n`,
    )
  })
})
