import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { stringify } from 'yaml'
import type { Variables } from '../../src/config/env.ts'
import { freePort } from './postgres.ts'
import { root } from './settings.ts'

export interface DomainsProcess {
  url: string
  child: ChildProcess
  output(): string
  stop(): Promise<void>
}

const whenReady = async (url: string, child: ChildProcess, output: () => string): Promise<void> => {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (child.exitCode !== null) break
    const ready = await fetch(`${url}/health/ready`).catch(() => null)
    if (ready?.ok) return
    await pause(50)
  }
  throw new Error(`the domains process did not get ready:\n${output()}`)
}

/** `portico serve --role domains` as a user starts it: a process of its own. */
export const startDomainsProcess = async (variables: Variables, configuration: object): Promise<DomainsProcess> => {
  const folder = await mkdtemp(join(tmpdir(), 'portico-domains-'))
  const file = join(folder, 'portico.yaml')
  await writeFile(file, stringify(configuration))
  const [port, operationsPort] = [await freePort(), await freePort()]
  const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--role', 'domains'], {
    cwd: root,
    env: {
      ...process.env,
      ...variables,
      PORT: String(port),
      OPS_PORT: String(operationsPort),
      PORTICO_CONFIG: file,
      NODE_OPTIONS: '',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  const collect = (chunk: Buffer) => {
    text += chunk.toString()
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  await whenReady(`http://127.0.0.1:${operationsPort}`, child, () => text)
  return {
    url: `http://127.0.0.1:${port}`,
    child,
    output: () => text,
    stop: async () => {
      if (child.exitCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}
