import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'

export interface TestPostgres {
  url: string
  version: string
  /** Kills the server without a checkpoint. Committed transactions survive. */
  crash(): Promise<void>
  /** Restarts the server after `crash`. */
  resume(): Promise<void>
  /** The caller must stop the standby. Undefined if pg_basebackup is not installed. */
  standby(): Promise<TestPostgres | undefined>
  stop(): Promise<void>
}

/** Durability is off: the tests simulate no power failure. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
}

/** Uses Debian's newest installed version, or else the server on PATH. */
function binaries(): string | undefined {
  const debian = globSync('/usr/lib/postgresql/*/bin/postgres').sort().at(-1)
  if (debian) return dirname(debian)
  return process.env.PATH?.split(delimiter).find((folder) => existsSync(join(folder, 'postgres')))
}

/** PostgreSQL refuses to run as root. */
export function runAs(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  const fields = (
    users.find((line) => line.startsWith('postgres:')) ?? users.find((line) => line.startsWith('nobody:'))
  )?.split(':')
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : undefined
}

/**
 * These ports are below Linux's ephemeral range, which starts at 32768. The system could assign an ephemeral port
 * before the server listens. Each test process has its own range.
 */
const [firstPort, portsEach, places] = [12_000, 2_000, 10] as const
const ownPorts = firstPort + (Number(process.env.VITEST_POOL_ID ?? 0) % places) * portsEach
let lastPort = randomInt(portsEach)

export function freePort(attempt = 1): Promise<number> {
  return new Promise((resolve, reject) => {
    lastPort = (lastPort + 1) % portsEach
    const port = ownPorts + lastPort
    const server = createServer()
    server.once('error', (error) => (attempt < 100 ? resolve(freePort(attempt + 1)) : reject(error)))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)))
  })
}

function ended(child: ReturnType<typeof spawn>): Promise<number | null> {
  return child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve))
}

async function versionOf(url: string): Promise<string> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version').finally(() => client.end())
  return rows[0]?.server_version ?? ''
}

async function waitUntilReady(url: string, isGone: () => boolean): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await versionOf(url)
    } catch (error) {
      if (attempt >= 1_000 || isGone()) throw error
      await pause(50)
    }
  }
}

async function run(cwd: string, program: string, values: string[]): Promise<void> {
  const code = await ended(spawn(program, values, { ...runAs(), cwd, stdio: 'ignore' }))
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
}

async function makeDirectory(parent: string): Promise<string> {
  const user = runAs()
  const directory = await mkdtemp(join(parent, 'portico-postgres-'))
  await chmod(directory, 0o700)
  if (user) await chown(directory, user.uid, user.gid)
  return directory
}

function initialise(bin: string, directory: string): Promise<void> {
  return run(directory, join(bin, 'initdb'), [
    ...['-D', directory, '-U', 'portico', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
  ])
}

interface Server extends Pick<TestPostgres, 'url' | 'version' | 'crash' | 'resume'> {
  /** Keeps the files. */
  shutDown(): Promise<void>
}

async function launch(bin: string, directory: string, extra: Record<string, string>): Promise<Server> {
  const port = await freePort()
  const options = { ...runAs(), cwd: directory, stdio: 'ignore' } as const
  const arguments_ = Object.entries({ ...settings, ...extra }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const start = () => spawn(join(bin, 'postgres'), ['-D', directory, '-p', String(port), ...arguments_], options)
  let server = start()
  const kill = () => server.kill('SIGQUIT')
  process.once('exit', kill)
  const url = `postgres://portico@127.0.0.1:${port}/postgres`
  const ready = () => waitUntilReady(url, () => server.exitCode !== null)
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const gone = ended(server)
    server.kill(signal)
    await gone
  }
  const shutDown = async (): Promise<void> => {
    process.off('exit', kill)
    await end('SIGINT')
  }
  try {
    const version = await ready()
    const resume = async (): Promise<void> => {
      server = start()
      await ready()
    }
    return { url, version, crash: () => end('SIGQUIT'), resume, shutDown }
  } catch (error) {
    await shutDown()
    throw error
  }
}

/** `fill` creates the files. */
async function startOn(
  bin: string,
  extra: Record<string, string>,
  fill: (directory: string) => Promise<void>,
): Promise<TestPostgres> {
  const directory = await makeDirectory(tmpdir())
  const remove = () => rm(directory, { recursive: true, force: true })
  try {
    await fill(directory)
    const { shutDown, ...server } = await launch(bin, directory, extra)
    return {
      ...server,
      standby: async () =>
        existsSync(join(bin, 'pg_basebackup'))
          ? startOn(bin, extra, (copy) =>
              run(copy, join(bin, 'pg_basebackup'), ['-d', server.url, '-D', copy, '-R', '-c', 'fast', '-N']),
            )
          : undefined,
      stop: async () => {
        await shutDown()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

function usableBinaries(): string | undefined {
  const bin = binaries()
  if (bin && (process.getuid?.() !== 0 || runAs())) return bin
  if (process.env.CI === 'true') throw new Error('no PostgreSQL to test against')
  return undefined
}

/** Undefined if PostgreSQL is not installed; with CI=true, throws instead. */
export async function startPostgres(extra: Record<string, string> = {}): Promise<TestPostgres | undefined> {
  const bin = usableBinaries()
  return bin === undefined ? undefined : startOn(bin, extra, (directory) => initialise(bin, directory))
}

/** `prepare` runs once against the server. */
export async function createPostgresFiles(parent: string, prepare?: (url: string) => Promise<void>): Promise<void> {
  const bin = usableBinaries()
  if (bin === undefined) return
  const directory = await makeDirectory(parent)
  await initialise(bin, directory)
  if (prepare === undefined) return
  const { url, shutDown } = await launch(bin, directory, {})
  try {
    await prepare(url)
  } finally {
    await shutDown()
  }
}

export async function startPostgresCopy(
  parent: string,
  extra: Record<string, string> = {},
): Promise<TestPostgres | undefined> {
  const bin = usableBinaries()
  const [name] = await readdir(parent)
  if (bin === undefined || name === undefined) return undefined
  return startOn(bin, extra, (directory) => run(directory, 'cp', ['-R', `${join(parent, name)}/.`, directory]))
}
