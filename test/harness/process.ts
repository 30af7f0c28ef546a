import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Variables } from '../../src/config/env.ts'
import { freePort } from './postgres.ts'
import { root } from './settings.ts'

export interface PorticoProcess {
  url: string
  operationsUrl: string
  child: ChildProcess
  output(): string
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>
}

async function waitUntilReady(operationsUrl: string, child: ChildProcess, output: () => string): Promise<void> {
  for (let attempt = 0; attempt < 2_000; attempt++) {
    if (child.exitCode !== null || child.signalCode !== null) break
    const ready = await fetch(`${operationsUrl}/health/ready`).catch(() => null)
    // A process with a wrong clock serves requests, but never gets ready.
    if (ready?.ok || (await ready?.text())?.includes('"clock":"failed"')) return
    await pause(50)
  }
  throw new Error(`the process did not get ready:\n${output()}`)
}

export interface StartOptions {
  /** Default: the clone. */
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** User and group of the process, if this one may change them. */
  uid?: number
  /** Also stops the processes that the command starts. `npx` does not pass a signal on. */
  isGroup?: boolean
}

/** Uses free ports unless `variables` names them. */
export async function startCommand(
  [program = '', ...args]: readonly string[],
  variables: Variables,
  { cwd = root, env = process.env, uid, isGroup = false }: StartOptions = {},
): Promise<PorticoProcess> {
  const [port, operationsPort] = [await freePort(), await freePort()]
  const child = spawn(program, args, {
    cwd,
    env: { ...env, PORT: String(port), OPS_PORT: String(operationsPort), ...variables, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
    detached: isGroup,
  })
  let text = ''
  const collect = (chunk: Buffer) => {
    text += chunk.toString()
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const operationsUrl = `http://127.0.0.1:${variables.OPS_PORT ?? operationsPort}`
  await waitUntilReady(operationsUrl, child, () => text)
  return {
    url: `http://127.0.0.1:${variables.PORT ?? port}`,
    operationsUrl,
    child,
    output: () => text,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const hasExited = once(child, 'exit')
        if (isGroup && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
        else child.kill('SIGTERM')
        await hasExited
      }
      return child.exitCode
    },
  }
}

export function startProcess(
  variables: Variables,
  role: 'gateway' | 'domains' = 'gateway',
  nodeArguments: readonly string[] = [],
  options: readonly string[] = [],
): Promise<PorticoProcess> {
  const command = [process.execPath, ...nodeArguments, 'bin/portico.js', 'serve', '--role', role, ...options]
  return startCommand(command, variables)
}
