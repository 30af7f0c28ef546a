import { describe, expect, test } from 'vitest'
import { workerCount } from '../../src/cli/workers/count.ts'
import { shareOf } from '../../src/cli/workers/share.ts'
import { upstreamSettings } from '../../src/config/index.ts'
import { runCli } from '../harness/cli.ts'
import { loadSettings } from '../harness/settings.ts'

const gigabyte = 1024 ** 3
const machine = { cores: 8, bytes: 16 * gigabyte }
const stores = { DATABASE_URL: 'postgres://portico@db.test/portico', REDIS_URL: 'redis://redis.test' }
const shared = loadSettings(stores)
const withoutRedis = loadSettings({ DATABASE_URL: stores.DATABASE_URL })
const embedded = loadSettings({})

describe('the number of workers', () => {
  test('is the given one with PostgreSQL and Redis', () => {
    expect(workerCount('3', shared, 'gateway', machine)).toBe(3)
  })

  test('auto: one per core, and at most one per 512 MB', () => {
    expect(workerCount('auto', shared, 'gateway', machine)).toBe(8)
    expect(workerCount('auto', shared, 'gateway', { cores: 8, bytes: 2 * gigabyte })).toBe(4)
    expect(workerCount('auto', shared, 'gateway', { cores: 8, bytes: gigabyte / 4 })).toBe(1)
  })

  test('auto is one where only one process can run', () => {
    expect(workerCount('auto', embedded, 'gateway', machine)).toBe(1)
    expect(workerCount('auto', withoutRedis, 'gateway', machine)).toBe(1)
  })

  test('services of domains need no Redis, like several replicas of them', () => {
    expect(workerCount('4', withoutRedis, 'domains', machine)).toBe(4)
    expect(workerCount('auto', withoutRedis, 'domains', machine)).toBe(8)
  })

  test.each(['0', '-1', '1.5', '257', 'all', ''])('%j is refused', async (option) => {
    const { code, err } = await runCli(['serve', `--workers=${option}`], {})
    expect([code, err]).toEqual([2, `portico: --workers must be auto or a number from 1 to 256, not '${option}'\n`])
  })

  test('more than one is refused on the embedded store, and for gateways without Redis', async () => {
    const refused = async (variables: Record<string, string>) => {
      const { code, err } = await runCli(['serve', '--workers', '2'], {}, variables)
      return [code, err]
    }
    expect(await refused({})).toEqual([
      2,
      'portico: --workers 2: the embedded store serves one process only; set DATABASE_URL, or start with --workers 1\n',
    ])
    expect(await refused({ DATABASE_URL: stores.DATABASE_URL })).toEqual([
      2,
      'portico: --workers 2: several gateways on one database need Redis; set REDIS_URL, or start with --workers 1\n',
    ])
  })
})

test('workers share the limits of the database, of sign-ins and of services', () => {
  const settings = loadSettings(stores)
  const limits = { url: 'https://service.test', concurrency: 100, connections: 7, queue: 1 }
  settings.backends = { default: 'in-process', transfers: upstreamSettings(settings, 'transfers', limits) }
  const share = shareOf(settings, 4)
  expect(share.database.poolSize).toBe(4)
  expect(shareOf(settings, 16).database.poolSize).toBe(3)
  expect([share.login.concurrency, share.login.queue]).toEqual([1, Math.ceil(settings.login.queue / 4)])
  expect(share.backends).toMatchObject({
    default: 'in-process',
    transfers: { concurrency: 25, connections: 2, queue: 1 },
  })
  expect(shareOf(settings, 1)).toEqual(settings)
})
