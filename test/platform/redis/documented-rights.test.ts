import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createLimits } from '../../../src/platform/limits/limits.ts'
import { createRedisCounters } from '../../../src/platform/limits/redis-limit-store.ts'
import { openRedis, type RedisConnection } from '../../../src/platform/redis/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { needsRedis } from '../../harness/needs.ts'
import { startRedis, type TestRedis } from '../../harness/redis.ts'
import { startRedisCluster } from '../../harness/redis-cluster.ts'
import { aclScript, clusterRights, redisRights } from '../../harness/rights.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-acl-'))
const aclFile = join(folder, 'users.acl')
writeFileSync(aclFile, '')
const plain = await startRedis()
const withFile = await startRedis(['--aclfile', aclFile])
const [node] = await startRedisCluster(1)
afterAll(async () => {
  for (const each of [plain, withFile, node]) await each?.stop()
  rmSync(folder, { recursive: true })
})

function openAsPortico({ url }: TestRedis, cluster = false): Promise<RedisConnection> {
  return openRedis({
    url: url.replace('//', '//portico:secret@'),
    cluster,
    connectTimeoutMs: 20_000,
    commandTimeoutMs: 20_000,
    onError: () => undefined,
    onReady: () => undefined,
    onEvicting: () => undefined,
  })
}

/** The end-to-end tests with replicas use these permissions for everything else. */
async function expectCounts(redis: RedisConnection, cluster = false): Promise<void> {
  await redis.check()
  const limits = createLimits(() => 1, systemClock, createRedisCounters(redis, { cluster }))
  expect(await limits.spend('login', '203.0.113.7', { limit: 3, windowMs: 60_000 })).toMatchObject({ remaining: 2 })
  limits.close()
  await redis.close()
}

/** Redis changes their order. */
async function permissionsOn(server: TestRedis): Promise<string[]> {
  return (await server.query('ACL GETUSER portico')).split(/\s+/).sort()
}

function runAcl({ url }: TestRedis, edit = (script: string) => script): void {
  const script = edit(aclScript.replace('…', 'secret')).replaceAll('redis-cli ', `redis-cli -p ${new URL(url).port} `)
  execFileSync('bash', ['-euc', script], { stdio: ['ignore', 'ignore', 'inherit'] })
}

describe('the commands of docs/guides/redis.md', needsRedis(plain), () => {
  test.each([
    ['its configuration file', plain, (script: string) => script],
    ['an aclfile', withFile, (script: string) => script.replace('CONFIG REWRITE', 'ACL SAVE')],
  ])('the user survives a restart of a server with %s', async (_, server, edit) => {
    if (!server) throw new Error('no Redis')
    runAcl(server, edit)
    const granted = await permissionsOn(server)
    expect(granted).toContain('+evalsha')
    await server.restart()
    expect(await permissionsOn(server)).toEqual(granted)
    await expectCounts(await openAsPortico(server))
  })

  test('the additions for a cluster suffice', async () => {
    if (!node) throw new Error('no Redis')
    await node.sendRequest(`ACL SETUSER portico on >secret ${redisRights()} ${clusterRights}`)
    await expectCounts(await openAsPortico(node, true), true)
  })
})
