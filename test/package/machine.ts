/* A machine for docs/guides/production.md: real servers on free ports, and stand-ins for programs that change the system. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { SMTPServer } from 'smtp-server'
import { freePort, startPostgres } from '../harness/postgres.ts'
import { askRedis } from '../harness/redis.ts'
import { userEnvironment } from './environment.ts'

/** The guide's role must not be the one that created the files of the test server. */
async function renameSuperuser(url: string): Promise<void> {
  const execute = async (user: string, statement: string): Promise<void> => {
    const client = new Client({ connectionString: url.replace('portico@', `${user}@`) })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await execute('portico', 'CREATE ROLE postgres SUPERUSER LOGIN')
  await execute('postgres', 'ALTER ROLE portico RENAME TO creator')
}

/** With a configuration file, which `CONFIG REWRITE` needs. */
async function startRedis(folder: string, port: number) {
  const file = join(folder, 'redis.conf')
  await writeFile(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\n`)
  const child = spawn('redis-server', [file], { stdio: 'ignore' })
  process.once('exit', () => child.kill('SIGKILL'))
  for (let attempt = 1; (await askRedis(port, 'PING').catch(() => '')) !== '+PONG'; attempt++) {
    if (attempt >= 1_000 || child.exitCode !== null) throw new Error('Redis did not start')
    await pause(25)
  }
  return child
}

function standIns(folder: string, postgresPort: string): Record<string, string> {
  return {
    'apt-get': 'exit 0',
    useradd: `mkdir -p "${folder}/var/lib/portico"`,
    runuser: `shift 3; PGHOST=127.0.0.1 PGPORT=${postgresPort} PGUSER=postgres PGDATABASE=postgres exec "$@"`,
    nginx: `exec /usr/sbin/nginx -p "${folder}" -c "${folder}/nginx.conf" -e stderr "$@"`,
    systemctl: `
unit="${folder}/etc/systemd/system/portico.service"
value() { sed -n "s|^$1=||p" "$unit"; }
case "$*" in
  'enable --now portico')
    cd "$(value WorkingDirectory)"
    env $(cat "$(value EnvironmentFile)") $(value ExecStart) </dev/null >"${folder}/portico.log" 2>&1 &
    echo $! >"${folder}/portico.pid" ;;
  'reload nginx') nginx </dev/null >/dev/null 2>"${folder}/nginx.log" ;;
  *) exit 1 ;;
esac`,
  }
}

function nginxConfiguration(folder: string): string {
  return `
user root;
pid ${folder}/nginx.pid;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  include ${folder}/etc/nginx/conf.d/*.conf;
}
`
}

export interface Machine {
  folder: string
  variables: NodeJS.ProcessEnv
  /** Replaces paths, ports and names of a text of the guide by those of this machine. */
  here(text: string): string
  stop(): Promise<void>
}

/** Returns false if the process has ended. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

/** The shell that started the process has ended, so its end cannot be awaited. */
async function stopByFile(file: string): Promise<void> {
  const pid = Number(await readFile(file, 'utf8').catch(() => ''))
  if (!pid || !signal(pid, 'SIGTERM')) return
  for (let attempt = 0; attempt < 600 && signal(pid, 0); attempt++) await pause(50)
  signal(pid, 'SIGKILL')
}

/** Undefined if PostgreSQL is not installed. */
export async function startMachine(): Promise<Machine | undefined> {
  const postgres = await startPostgres()
  if (!postgres) return undefined
  const folder = await mkdtemp(join(tmpdir(), 'portico-machine-'))
  await chmod(folder, 0o755)
  await renameSuperuser(postgres.url)
  const redisPort = await freePort()
  const redis = await startRedis(folder, redisPort)
  const mail = new SMTPServer({ authOptional: true, disabledCommands: ['STARTTLS'] })
  const [mailPort, port, operationsPort, edgePort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ]
  mail.listen(mailPort, '127.0.0.1')
  const postgresPort = new URL(postgres.url).port
  const bin = join(folder, 'bin')
  for (const each of ['bin', 'etc/systemd/system', 'etc/nginx/conf.d', 'etc/ssl'])
    await mkdir(join(folder, each), { recursive: true })
  for (const [name, script] of Object.entries(standIns(folder, postgresPort)))
    await writeFile(join(bin, name), `#!/bin/bash\nset -eu\n${script}\n`, { mode: 0o755 })
  await writeFile(join(folder, 'nginx.conf'), nginxConfiguration(folder))
  const replacements: [RegExp, string][] = [
    [/(?<![\w.$}])\/(?=(etc|opt|var)\/)/g, `${folder}/`],
    [/127\.0\.0\.1:5432/g, `127.0.0.1:${postgresPort}`],
    [/127\.0\.0\.1:6379/g, `127.0.0.1:${redisPort}`],
    [/redis-cli /g, `redis-cli -p ${redisPort} `],
    [/127\.0\.0\.1:8080/g, `127.0.0.1:${port}`],
    [/127\.0\.0\.1:9090/g, `127.0.0.1:${operationsPort}`],
    [/smtps:\/\/user:password@smtp\.example\.com/g, `smtp://127.0.0.1:${mailPort}?requireTLS=false`],
    [/https:\/\/portal\.example\.com/g, `https://localhost:${edgePort}`],
    [/listen 443 ssl/g, `listen 127.0.0.1:${edgePort} ssl`],
  ]
  const environment = userEnvironment({ PORT: String(port), OPS_PORT: String(operationsPort) })
  return {
    folder,
    variables: {
      PATH: [bin, environment.PATH].join(delimiter),
      PORT: String(port),
      OPS_PORT: String(operationsPort),
      NODE_EXTRA_CA_CERTS: join(folder, 'etc/ssl/portal.pem'),
    },
    here: (text) => replacements.reduce((all, [pattern, replacement]) => all.replaceAll(pattern, replacement), text),
    stop: async () => {
      await stopByFile(join(folder, 'portico.pid'))
      await stopByFile(join(folder, 'nginx.pid'))
      redis.kill('SIGKILL')
      await once(redis, 'exit')
      await new Promise<void>((resolve) => mail.close(resolve))
      await postgres.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
