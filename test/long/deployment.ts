import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { kill } from '../faults/client.ts'
import { freePort, type TestPostgres } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { type Relay, startRelay } from '../harness/relay.ts'
import { moneySettings } from './orders.ts'

/** A gateway with its links to the stores. */
export interface Gateway {
  /** Undefined while it is down. */
  process: PorticoProcess | undefined
  toPostgres: Relay
  toRedis: Relay
  start(): Promise<void>
  kill(): Promise<void>
  stop(): Promise<void>
}

export interface Deployment {
  gateways: [Gateway, Gateway]
  postgres: TestPostgres
  redis: TestRedis
  /** Null if this user cannot mount a file system. */
  disk: Disk | null
  stop(): Promise<void>
}

/** The file system of PostgreSQL. */
export interface Disk {
  /** Leaves PostgreSQL no free block. */
  fill(): Promise<void>
  grow(): void
}

const diskGigabytes = 12
const hour = 3_600_000

/** Two gateways on PostgreSQL and Redis. `clockShiftMs` is the step of `SIGUSR2`. Undefined without the stores. */
export async function startDeployment(clockShiftMs: number): Promise<Deployment | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'portico-long-'))
  const mounted = mount(folder)
  const before = process.env.TMPDIR
  if (mounted) process.env.TMPDIR = folder
  const postgres = await seededPostgres({ synchronous_commit: 'on' })
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  const redis = await startRedis()
  const stores = { postgres, redis }
  const close = async (): Promise<void> => {
    await redis?.stop()
    await postgres?.stop()
    if (mounted) spawnSync('umount', [folder])
    await rm(folder, { recursive: true, force: true })
  }
  if (!stores.postgres || !stores.redis) {
    await close()
    return undefined
  }
  const configuration = join(folder, 'portico.yaml')
  await writeFile(configuration, dump(settings))
  process.env.PORTICO_TEST_CLOCK_SHIFT = String(clockShiftMs)
  const start = () => startGateway(configuration, folder, stores.postgres?.url ?? '', stores.redis?.url ?? '')
  let gateways: [Gateway, Gateway]
  try {
    gateways = [await start(), await start()]
  } catch (error) {
    await close()
    throw error
  }
  return {
    gateways,
    postgres: stores.postgres,
    redis: stores.redis,
    disk: mounted ? diskOf(folder) : null,
    stop: async () => {
      for (const gateway of gateways) {
        await gateway.stop()
        await gateway.toPostgres.close()
        await gateway.toRedis.close()
      }
      await close()
    },
  }
}

const settings = {
  tokens: { accessTtlMs: hour },
  sessions: { idleMs: 12 * hour },
  mfa: { stepUpMs: hour },
  limits: { scale: 1_000_000 },
  money: moneySettings,
  shutdown: { delayMs: 0, timeoutMs: 5_000 },
}

async function startGateway(configuration: string, folder: string, database: string, redis: string): Promise<Gateway> {
  const [postgresUrl, redisUrl] = [new URL(database), new URL(redis)]
  const toPostgres = await startRelay(Number(postgresUrl.port))
  const toRedis = await startRelay(Number(redisUrl.port))
  postgresUrl.port = String(toPostgres.port)
  redisUrl.port = String(toRedis.port)
  const variables = {
    PORTICO_CONFIG: configuration,
    PORTICO_DATA_DIR: join(folder, 'data'),
    DATABASE_URL: postgresUrl.href,
    REDIS_URL: redisUrl.href,
    LOG_LEVEL: 'error',
    PORT: String(await freePort()),
    OPS_PORT: String(await freePort()),
  }
  const gateway: Gateway = {
    process: undefined,
    toPostgres,
    toRedis,
    start: async () => {
      gateway.process = await startProcess(variables, 'gateway', ['--import', './test/long/shifted-clock.mjs'])
    },
    kill: async () => {
      if (gateway.process) await kill(gateway.process)
      gateway.process = undefined
    },
    stop: async () => {
      await gateway.process?.stop()
      gateway.process = undefined
    },
  }
  await gateway.start()
  return gateway
}

function mount(folder: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskGigabytes}g,mode=1777`, 'tmpfs', folder]).status === 0
}

function diskOf(folder: string): Disk {
  const resize = (size: string): void => {
    const { status, stderr } = spawnSync('mount', ['-o', `remount,size=${size}`, folder])
    if (status !== 0) throw new Error(`cannot resize the disk: ${stderr.toString()}`)
  }
  return {
    fill: async () => {
      const { blocks, bfree, bsize } = await statfs(folder)
      resize(String((blocks - bfree) * bsize))
    },
    grow: () => resize(`${diskGigabytes}g`),
  }
}
