import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isInstalled } from './needs.ts'
import { freePort } from './postgres.ts'

const program = '/usr/sbin/nginx'

export interface TestNginx {
  url: string
  /** Replaces the further directives. Requests that are running end on the old ones. */
  reload(http: string): Promise<void>
  stop(): Promise<void>
}

export const nginxIsInstalled = (): boolean => isInstalled(program)

function configurationOf(port: number, directory: string, locations: Record<string, string>, http: string): string {
  return `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
pid ${directory}/nginx.pid;
error_log stderr crit;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  ${http}
  server {
    listen 127.0.0.1:${port};
${Object.entries(locations)
  .map(([location, target]) => `    location ${location} { proxy_pass ${target}; }`)
  .join('\n')}
  }
}
`
}

export function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false)).once('close', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** `locations` maps each location prefix to its proxy_pass URL. `http` are further directives. */
export async function startNginx(locations: Record<string, string>, http = ''): Promise<TestNginx> {
  const port = await freePort()
  const directory = await mkdtemp(join(tmpdir(), 'portico-nginx-'))
  const file = join(directory, 'nginx.conf')
  const write = (directives: string) => writeFile(file, configurationOf(port, directory, locations, directives))
  await write(http)
  const child = spawn(program, ['-p', directory, '-c', file, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  // The master ends its workers. After SIGKILL, they would live on.
  const kill = () => child.kill('SIGTERM')
  process.once('exit', kill)
  for (let attempt = 1; !(await accepts(port)); attempt++) {
    if (attempt >= 1_000 || child.exitCode !== null) throw new Error('nginx did not start')
    await pause(25)
  }
  return {
    url: `http://127.0.0.1:${port}`,
    reload: async (directives) => {
      await write(directives)
      child.kill('SIGHUP')
    },
    stop: async () => {
      process.off('exit', kill)
      if (child.exitCode === null && child.signalCode === null) {
        kill()
        await once(child, 'exit')
      }
      await rm(directory, { recursive: true, force: true })
    },
  }
}
