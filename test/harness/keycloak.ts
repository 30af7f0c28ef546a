import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/* A Keycloak server from an unpacked distribution. Its database is in memory. */

export interface KeycloakServer {
  /** Realms are below `/realms`. */
  url: string
  administrator: { username: string; password: string }
  stop(): Promise<void>
}

const administrator = { username: 'administrator', password: 'a-password-for-tests' }

/** Those of the build that .ci/run makes. Other ones would repeat it. */
const buildOptions = ['--db=dev-mem', '--health-enabled=false']
const address = ['--http-enabled=true', '--http-host=127.0.0.1', '--http-port=0', '--hostname-strict=false']

/** Compiles less and uses one thread to collect garbage, which halves the CPU time of the start. */
const javaOptions =
  '-Xms128m -Xmx512m -XX:MaxMetaspaceSize=256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError'

/** On an idle machine, a start takes eight seconds. */
const startMs = 180_000

/** Undefined without `KEYCLOAK_HOME` or Java. */
export async function startKeycloak(): Promise<KeycloakServer | undefined> {
  const program = join(process.env.KEYCLOAK_HOME ?? '', 'bin/kc.sh')
  if (!process.env.KEYCLOAK_HOME || !existsSync(program) || !hasJava()) return undefined
  const child = spawn(program, ['start', ...buildOptions, ...address, '--cache=local'], {
    env: {
      ...process.env,
      JAVA_OPTS: javaOptions,
      KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // The script does not pass signals on to Java.
    detached: true,
  })
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, name)
  }
  const kill = () => signal('SIGKILL')
  process.once('exit', kill)
  const stop = async () => {
    process.off('exit', kill)
    // Java has the pipes of the script, and ends later.
    const hasExited = child.exitCode === null && child.signalCode === null && once(child, 'close')
    signal('SIGTERM')
    await hasExited
  }
  const limit = setTimeout(kill, startMs)
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const collect = (chunk: Buffer): void => {
      output += chunk.toString()
      const found = /Listening on: (http:\S+)/.exec(output)?.[1]
      if (found) resolve(found)
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.once('error', reject)
    child.once('exit', () => reject(new Error(`Keycloak did not start:\n${output}`)))
  }).finally(() => clearTimeout(limit))
  return { url, administrator, stop }
}

function hasJava(): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.some((folder) => existsSync(join(folder, 'java')))
}
