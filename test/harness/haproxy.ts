import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isInstalled } from './needs.ts'
import { accepts } from './nginx.ts'
import { freePort } from './postgres.ts'

const program = '/usr/sbin/haproxy'

export interface TestHaproxy {
  url: string
  stop(): Promise<void>
}

export const haproxyIsInstalled = (): boolean => isInstalled(program)

function configurationOf(port: number, backend: readonly string[]): string {
  return `
defaults
  mode http
  timeout connect 5s
  timeout check 5s
  timeout client 60s
  timeout server 60s

frontend portal
  bind 127.0.0.1:${port}
  default_backend portico

backend portico
${backend.map((line) => `  ${line}`).join('\n')}
`
}

/** `backend` are the lines of the backend section. */
export async function startHaproxy(backend: readonly string[]): Promise<TestHaproxy> {
  const port = await freePort()
  const directory = await mkdtemp(join(tmpdir(), 'portico-haproxy-'))
  const file = join(directory, 'haproxy.cfg')
  await writeFile(file, configurationOf(port, backend))
  const child = spawn(program, ['-db', '-q', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  for (let attempt = 1; !(await accepts(port)); attempt++) {
    if (attempt >= 1_000 || child.exitCode !== null) throw new Error('HAProxy did not start')
    await pause(25)
  }
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      process.off('exit', kill)
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      await rm(directory, { recursive: true, force: true })
    },
  }
}
