import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
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
  empty(): Promise<void>
}

/** The file is sparse, so that it occupies what PostgreSQL has written. */
const diskGigabytes = 40
const hour = 3_600_000

/** Two gateways on PostgreSQL and Redis. `clockShiftMs` is the step of `SIGUSR2`. Undefined without the stores. */
export async function startDeployment(clockShiftMs: number): Promise<Deployment | undefined> {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'portico-long-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const disk = await mountDisk(folder)
  stack.defer(() => disk?.unmount())
  const postgres = await startPostgresIn(disk?.folder ?? folder)
  stack.defer(() => postgres?.stop())
  const redis = await startRedis()
  stack.defer(() => redis?.stop())
  if (!postgres || !redis) return undefined
  const configuration = join(folder, 'portico.yaml')
  await writeFile(configuration, dump(settings))
  process.env.PORTICO_TEST_CLOCK_SHIFT = String(clockShiftMs)
  const start = async (): Promise<Gateway> => {
    const toPostgres = await startRelay(Number(new URL(postgres.url).port))
    stack.defer(() => toPostgres.close())
    const toRedis = await startRelay(Number(new URL(redis.url).port))
    stack.defer(() => toRedis.close())
    const gateway = await createGateway({ configuration, folder, postgres, redis, toPostgres, toRedis })
    stack.defer(() => gateway.stop())
    await gateway.start()
    return gateway
  }
  const gateways: [Gateway, Gateway] = [await start(), await start()]
  const open = stack.move()
  return { gateways, postgres, redis, disk: disk ?? null, stop: () => open.disposeAsync() }
}

/** The harness creates the files in the folder for temporary files. */
async function startPostgresIn(folder: string): Promise<TestPostgres | undefined> {
  const { TMPDIR: before } = process.env
  process.env.TMPDIR = folder
  try {
    return await seededPostgres({ synchronous_commit: 'on', shared_buffers: '1GB' })
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

const settings = {
  tokens: { accessTtlMs: hour },
  sessions: { idleMs: 12 * hour },
  // Longer than a token, so that a renewed session always comes before a step-up ends.
  mfa: { stepUpMs: 2 * hour },
  limits: { scale: 1_000_000 },
  money: moneySettings,
  shutdown: { delayMs: 0, timeoutMs: 5_000 },
}

interface Links extends Pick<Gateway, 'toPostgres' | 'toRedis'>, Pick<Deployment, 'postgres' | 'redis'> {
  configuration: string
  folder: string
}

async function createGateway({ configuration, folder, ...links }: Links): Promise<Gateway> {
  const { toPostgres, toRedis, postgres, redis } = links
  const variables = {
    PORTICO_CONFIG: configuration,
    PORTICO_DATA_DIR: join(folder, 'data'),
    DATABASE_URL: atPort(postgres.url, toPostgres.port),
    REDIS_URL: atPort(redis.url, toRedis.port),
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
  return gateway
}

function atPort(text: string, port: number): string {
  const url = new URL(text)
  url.port = String(port)
  return url.href
}

interface MountedDisk extends Disk {
  folder: string
  unmount(): void
}

/** A file system in a file. Undefined if this user cannot mount one. */
async function mountDisk(parent: string): Promise<MountedDisk | undefined> {
  const [image, folder] = [join(parent, 'disk.img'), join(parent, 'disk')]
  const ballast = join(folder, 'ballast')
  await mkdir(folder)
  const isMounted =
    runs('truncate', '-s', `${diskGigabytes}G`, image) &&
    // A process that is killed needs no journal, because the system keeps what it wrote.
    runs('mkfs.ext4', '-q', '-m', '0', '-O', '^has_journal', image) &&
    runs('mount', '-o', 'loop', image, folder)
  if (!isMounted) return undefined
  // PostgreSQL runs as another user.
  await chmod(parent, 0o711)
  await chmod(folder, 0o1777)
  return {
    folder,
    fill: async () => {
      // It takes what is free, and then fails.
      if (runs('fallocate', '-l', `${diskGigabytes}G`, ballast)) throw new Error('the disk is larger than expected')
    },
    empty: () => rm(ballast),
    unmount: () => {
      if (!runs('umount', folder)) throw new Error(`cannot unmount ${folder}`)
    },
  }
}

function runs(program: string, ...values: string[]): boolean {
  return spawnSync(program, values).status === 0
}
