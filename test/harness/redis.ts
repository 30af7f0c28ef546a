import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './postgres.ts'

export interface TestRedis {
  url: string
  /** The current process. */
  readonly child: ChildProcess
  /** Sends an inline command and returns the first line. */
  sendRequest(command: string): Promise<string>
  /** Returns the full response. */
  query(command: string): Promise<string>
  /** Starts again with the same folder and configuration file. */
  restart(): Promise<void>
  stop(): Promise<void>
}

function program(): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of ['redis-server', 'valkey-server'])
      try {
        accessSync(join(folder, name), constants.X_OK)
        return join(folder, name)
      } catch {
        // Try the next folder.
      }
  return undefined
}

function queryRedis(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`))
    socket.setTimeout(20_000, () => socket.destroy(new Error('Redis is silent')))
    socket.once('data', (chunk) => {
      resolve(chunk.toString())
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

export async function askRedis(port: number, command: string): Promise<string> {
  return (await queryRedis(port, command)).split('\r\n')[0] ?? ''
}

/** Undefined if Redis is not on PATH; with CI=true, throws instead. */
export async function startRedis(extra: string[] = [], fixedPort?: number): Promise<TestRedis | undefined> {
  const path = program()
  if (!path) {
    if (process.env.CI === 'true') throw new Error('no Redis to test against')
    return undefined
  }
  const port = fixedPort ?? (await freePort())
  const directory = await mkdtemp(join(tmpdir(), 'portico-redis-'))
  // CONFIG REWRITE needs a file. The arguments replace its settings.
  const file = join(directory, 'redis.conf')
  await writeFile(file, '', { flag: 'a' })
  const arguments_ = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const start = () =>
    spawn(path, [file, ...arguments_, '--databases', '1000', '--dir', directory, ...extra], { stdio: 'ignore' })
  let child = start()
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ready = async (): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      const answer = await askRedis(port, 'PING').catch(() => '')
      if (answer === '+PONG' || answer.startsWith('-NOAUTH')) return
      if (attempt >= 2_000 || child.exitCode !== null) throw new Error('Redis did not start')
      await pause(25)
    }
  }
  await ready()
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    kill()
    await once(child, 'exit')
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    get child() {
      return child
    },
    sendRequest: (command) => askRedis(port, command),
    query: (command) => queryRedis(port, command),
    restart: async () => {
      await end()
      child = start()
      await ready()
    },
    stop: async () => {
      process.off('exit', kill)
      await end()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Returns a function that frees the memory. Avoids scripts, whose memory Redis 8 counts and frees late. */
export async function fillRedis(redis: TestRedis | undefined): Promise<() => Promise<void>> {
  await redis?.sendRequest('SETRANGE junk 20000000 x')
  if (!(await redis?.sendRequest('SET junk:2 x'))?.startsWith('-OOM')) throw new Error('Redis is not full')
  return async () => void (await redis?.sendRequest('DEL junk'))
}
