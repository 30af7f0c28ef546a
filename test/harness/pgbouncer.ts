import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { selfSigned } from './certificate.ts'
import { freePort, runAs } from './postgres.ts'
import { root } from './settings.ts'

const program = '/usr/sbin/pgbouncer'

export interface TestPooler {
  /** The same database through PgBouncer. */
  url: string
  stop(): Promise<void>
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  return client
    .connect()
    .then(() => true)
    .catch(() => false)
    .finally(() => client.end().catch(() => undefined))
}

/** The file of docs/guides/postgresql.md, and its additions for TLS. */
function documented(): [string, string] {
  const guide = readFileSync(join(root, 'docs/guides/postgresql.md'), 'utf8')
  const [ini, tls] = [...guide.matchAll(/^```ini\n(.*?)^```$/gms)].map(([, block = '']) => block)
  if (ini === undefined || tls === undefined) throw new Error('docs/guides/postgresql.md has no file of PgBouncer')
  return [ini, tls]
}

/** Runs PgBouncer as the guide configures it, with `poolSize` connections, and optionally with TLS. Returns undefined if PgBouncer is not installed. */
export async function startPgBouncer(
  databaseUrl: string,
  poolSize: number,
  withTls = false,
): Promise<TestPooler | undefined> {
  if (!existsSync(program)) {
    if (process.env.CI === 'true') throw new Error('no PgBouncer to test with')
    return undefined
  }
  const { hostname, port: serverPort, pathname, username } = new URL(databaseUrl)
  const directory = await mkdtemp(join(tmpdir(), 'portico-pgbouncer-'))
  await chmod(directory, 0o755)
  const port = await freePort()
  const database = pathname.slice(1)
  const login = { name: username, password: 'pooled' }
  const userList = join(directory, 'userlist.txt')
  await writeFile(userList, `"${login.name}" "${login.password}"\n`)
  const [settings, tls] = documented()
  const certificate = withTls ? selfSigned(directory, 'IP:127.0.0.1').file : undefined
  // The last of two equal settings counts.
  const ini = `${settings
    .replace(/^portico = .*$/m, `${database} = host=${hostname} port=${serverPort} dbname=${database}`)
    .replace('10.0.0.20', '127.0.0.1')
    .replace('6432', String(port))
    .replace('/etc/pgbouncer/userlist.txt', userList)}
${withTls ? tls.replaceAll('/etc/pgbouncer', directory) : ''}
unix_socket_dir =
default_pool_size = ${poolSize}
`
  const file = join(directory, 'pgbouncer.ini')
  await writeFile(file, ini)
  const user = runAs()
  const owned = [directory, ...(certificate ? [certificate, join(directory, 'key.pem')] : [])]
  if (user) for (const each of owned) await chown(each, user.uid, user.gid)
  const child = spawn(program, [file], { ...user, cwd: directory, stdio: 'ignore' })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const query = certificate ? `?sslmode=verify-full&sslrootcert=${certificate}` : ''
  const url = `postgres://${login.name}:${login.password}@127.0.0.1:${port}/${database}${query}`
  for (let attempt = 1; !(await answers(url)); attempt++) {
    if (attempt >= 1_000 || child.exitCode !== null) throw new Error('PgBouncer did not start')
    await pause(50)
  }
  return {
    url,
    stop: async () => {
      process.off('exit', kill)
      child.kill('SIGKILL')
      await once(child, 'exit')
      await rm(directory, { recursive: true, force: true })
    },
  }
}
