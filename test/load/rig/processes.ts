import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { connect } from 'node:net'
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { root } from '../../harness/settings.ts'
import { cpuSecondsOf, residentBytesOf } from './usage.ts'

/** The measured process has one core. The load and its dependencies share the other one. */
export type Place = 'measured' | 'load' | 'anywhere'

function isThere(program: string, ...args: string[]): boolean {
  return spawnSync(program, args).status === 0
}
const taskset = 'taskset'
const last = cpus().length - 1
const canPin = last > 0 && isThere(taskset, '-c', `0,${last}`, 'true')
const cores: Record<Place, string> = { measured: '0', load: `1-${last}`, anywhere: `0-${last}` }

/** Requires `taskset` and two cores. */
function withBackends(place: Place, command: string, args: readonly string[]): [string, string[]] {
  return canPin ? [taskset, ['-c', cores[place], command, ...args]] : [command, [...args]]
}

/** Affects all threads. */
export function pin(pid: number, place: Place): void {
  if (canPin) spawnSync(taskset, ['-acp', cores[place], String(pid)])
}
function pinSelf(place: Place): void {
  pin(process.pid, place)
}
// This process sends those requests that wrk cannot send.
pinSelf('load')

/** The started processes can use all cores. */
export async function unpinned<T>(work: () => Promise<T>): Promise<T> {
  pinSelf('anywhere')
  try {
    return await work()
  } finally {
    pinSelf('load')
  }
}

export const pinning = canPin
  ? 'the measured process pinned to core 0, load and upstream to the others'
  : 'nothing pinned'

export interface Started {
  name: string
  pid: number
  url: string
  /** User and system time since the start, in seconds. */
  cpuSeconds(): number
  residentBytes(): number
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
}

export interface Start {
  name: string
  place: Place
  command: string
  args: readonly string[]
  port: number
  env?: Record<string, string>
  /** Receives standard output and standard error. */
  log: string
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })
}

async function waitUntilReady(port: number, name: string, log: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 1200; attempt++) {
    if (await answers(port)) return
    if (child.exitCode !== null) break
    await pause(50)
  }
  throw new Error(`${name} did not get ready; see ${log}`)
}

/** Waits until the process listens. It ends with the benchmark. */
export async function start({ name, place, command, args, port, env = {}, log }: Start): Promise<Started> {
  const file = openSync(log, 'a')
  const [program, line] = withBackends(place, command, args)
  const variables = { ...process.env, PORT: String(port), ...env, NODE_OPTIONS: '' }
  const child = spawn(program, line, { cwd: root, env: variables, stdio: ['ignore', file, file] })
  closeSync(file)
  running.add(child)
  child.once('exit', () => running.delete(child))
  const { pid } = child
  if (pid === undefined) throw new Error(`${name} did not start`)
  await waitUntilReady(port, name, log, child)
  return {
    name,
    pid,
    url: `http://127.0.0.1:${port}`,
    cpuSeconds: () => cpuSecondsOf(pid),
    residentBytes: () => residentBytesOf(pid),
    signal: (signal) => void child.kill(signal),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await gone
      clearTimeout(timer)
    },
  }
}

/** Returns standard output. Throws on a nonzero exit code. */
export async function runToEnd(
  place: Place,
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const [program, line] = withBackends(place, command, args)
  const variables = { ...process.env, ...env, NODE_OPTIONS: '' }
  const child = spawn(program, line, { cwd: root, env: variables, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  const [out, err]: [string[], string[]] = [[], []]
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk.toString()))
  await once(child, 'close')
  running.delete(child)
  if (child.exitCode !== 0) throw new Error(`${command} ended with ${child.exitCode}:\n${err.join('')}`)
  return out.join('')
}

export function onPath(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
