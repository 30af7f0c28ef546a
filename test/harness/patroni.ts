import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { accepts } from './nginx.ts'
import { freePort, runAs } from './postgres.ts'

const programs = { patroni: '/usr/bin/patroni', etcd: '/usr/bin/etcd', haproxy: '/usr/sbin/haproxy' } as const
const postgresBinaries = globSync('/usr/lib/postgresql/*/bin/postgres').sort().map(dirname).at(-1)

/** Optional, also with CI=true: the images of the runners do not have Patroni. */
export const patroniIsInstalled = (): boolean =>
  postgresBinaries !== undefined && Object.values(programs).every((program) => existsSync(program))

export interface PatroniNode {
  name: string
  /** Of PostgreSQL, without the proxy. */
  url: string
  restUrl: string
  /** Kills Patroni and its PostgreSQL, as the loss of the machine does. */
  kill(): Promise<void>
}

export interface PatroniCluster {
  /** Of HAProxy, which leads to the primary. */
  url: string
  nodes: readonly PatroniNode[]
  /** The node whose REST interface says that it is the primary. */
  primary(): Promise<PatroniNode | undefined>
  stop(): Promise<void>
}

/** Has a primary and a synchronous standby: two nodes, one etcd and HAProxy, with the configuration of deploy/patroni. */
export async function startPatroni(): Promise<PatroniCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'portico-patroni-'))
  const user = runAs()
  const stops: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })]
  const stop = async (): Promise<void> => {
    for (const each of stops.toReversed()) await each()
  }
  try {
    if (user) await chown(directory, user.uid, user.gid)
    const etcdPort = await startEtcd(directory, stops)
    const nodes: PatroniNode[] = []
    for (const name of ['node1', 'node2']) nodes.push(await startNode(name, directory, etcdPort, stops))
    const withRole = async (path: string) => {
      for (const node of nodes) if (await isOk(node.restUrl + path)) return node
      return undefined
    }
    const url = await startProxy(directory, nodes, stops)
    await waitForRoles(withRole)
    return { url, nodes, primary: () => withRole('/primary'), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

type Stops = (() => Promise<unknown>)[]

/** A synchronous standby exists some seconds after the second node has its copy. */
async function waitForRoles(withRole: (path: string) => Promise<unknown>): Promise<void> {
  for (let attempt = 1; !((await withRole('/primary')) && (await withRole('/synchronous'))); attempt++) {
    if (attempt >= 600) throw new Error('Patroni named no synchronous standby')
    await pause(100)
  }
}

async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
  return response?.ok ?? false
}

/** Leads a process group, so that a signal reaches its children. */
function launch(program: string, values: readonly string[], cwd: string, stops: Stops): ChildProcess {
  const child = spawn(program, values, {
    ...runAs(),
    cwd,
    env: { ...process.env, HOME: cwd },
    detached: true,
    stdio: 'ignore',
  })
  const kill = () => signalGroup(child)
  process.once('exit', kill)
  stops.push(async () => {
    process.off('exit', kill)
    await killGroup(child)
  })
  return child
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function signalGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) signal(-pid)
}

async function killGroup(child: ChildProcess): Promise<void> {
  const exited = child.exitCode !== null || child.signalCode !== null || once(child, 'exit')
  signalGroup(child)
  await exited
}

async function waitForPort(port: number, name: string): Promise<void> {
  for (let attempt = 1; !(await accepts(port)); attempt++) {
    if (attempt >= 1_000) throw new Error(`${name} did not start`)
    await pause(50)
  }
}

async function startEtcd(directory: string, stops: Stops): Promise<number> {
  const [port, peerPort] = [await freePort(), await freePort()]
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`]
  launch(
    programs.etcd,
    [
      ...['--data-dir', join(directory, 'etcd'), '--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
      '--unsafe-no-fsync',
    ],
    directory,
    stops,
  )
  await waitForPort(port, 'etcd')
  return port
}

const templates = new URL('../../deploy/patroni/', import.meta.url)

/** Replaces `{{ name }}`. */
async function fill(file: string, values: Record<string, string | number>): Promise<string> {
  const text = await readFile(new URL(file, templates), 'utf8')
  return Object.entries(values).reduce(
    (filled, [name, value]) => filled.replaceAll(`{{ ${name} }}`, String(value)),
    text,
  )
}

async function startNode(name: string, directory: string, etcdPort: number, stops: Stops): Promise<PatroniNode> {
  const [port, restPort] = [await freePort(), await freePort()]
  const folder = join(directory, name)
  await mkdir(folder)
  const user = runAs()
  if (user) await chown(folder, user.uid, user.gid)
  const file = join(folder, 'patroni.yml')
  const addresses = { rest: `127.0.0.1:${restPort}`, postgres: `127.0.0.1:${port}`, etcd: `127.0.0.1:${etcdPort}` }
  const places = { name, data: join(folder, 'data'), bin: postgresBinaries ?? '', network: '127.0.0.1/32' }
  await writeFile(file, await fill('patroni.yml', { ...addresses, ...places }))
  const child = launch(programs.patroni, [file], folder, stops)
  const kill = async (): Promise<void> => {
    const postmaster = await readFile(join(folder, 'data/postmaster.pid'), 'utf8').catch(() => '')
    await killGroup(child)
    // PostgreSQL has another process group. Its children end when the postmaster is gone.
    const pid = Number(postmaster.split('\n')[0])
    if (pid > 1) signal(pid)
  }
  stops.push(kill)
  const node = {
    name,
    url: `postgres://portico@127.0.0.1:${port}/postgres`,
    restUrl: `http://127.0.0.1:${restPort}`,
    kill,
  }
  for (let attempt = 1; !(await isOk(`${node.restUrl}/health`)); attempt++) {
    if (attempt >= 1_200 || child.exitCode !== null) throw new Error(`Patroni ${name} did not start PostgreSQL`)
    await pause(100)
  }
  return node
}

async function startProxy(directory: string, nodes: readonly PatroniNode[], stops: Stops): Promise<string> {
  const port = await freePort()
  const servers = nodes.map(({ name, url, restUrl }) => {
    const [address, check] = [new URL(url).host, new URL(restUrl).port]
    return `  server ${name} ${address} check port ${check}`
  })
  const file = join(directory, 'haproxy.cfg')
  await writeFile(file, await fill('haproxy.cfg', { listen: `127.0.0.1:${port}`, servers: servers.join('\n') }))
  launch(programs.haproxy, ['-db', '-q', '-f', file], directory, stops)
  await waitForPort(port, 'HAProxy')
  return `postgres://portico@127.0.0.1:${port}/postgres?sslmode=disable`
}
