import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { haproxyIsInstalled, startHaproxy } from '../harness/haproxy.ts'
import { needs } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx } from '../harness/nginx.ts'
import { freePort } from '../harness/postgres.ts'
import { root } from '../harness/settings.ts'

const guide = readFileSync(join(root, 'docs/guides/load-balancers.md'), 'utf8')

function block(language: string): string {
  const [, text] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(guide) ?? []
  return text ?? expect.fail(`no ${language} in the guide`)
}

/** A listener that does not accept: its queue holds one connection, and Linux drops further ones. */
const listener = `
import socket, sys, time
s = socket.socket()
s.bind(('127.0.0.1', int(sys.argv[1])))
s.listen(0)
print('listening', flush=True)
time.sleep(600)
`

const hasPython = !spawnSync('python3', ['--version']).error

describe('the machine of a replica is silent', needs(hasPython, 'Python is not installed'), () => {
  let silent: ChildProcess | undefined
  let [silentPort, livePort] = [0, 0]
  let live: Server | undefined
  const waiting: Socket[] = []

  beforeAll(async () => {
    silentPort = await freePort()
    const child = spawn('python3', ['-c', listener, String(silentPort)], { stdio: ['ignore', 'pipe', 'inherit'] })
    silent = child
    await once(child.stdout, 'data')
    for (let each = 0; each < 4; each++) waiting.push(connect(silentPort, '127.0.0.1').on('error', () => undefined))
    live = createServer((request, response) => request.resume().on('end', () => response.end('served')))
    livePort = await freePort()
    await once(live.listen(livePort, '127.0.0.1'), 'listening')
  })
  afterAll(() => {
    for (const each of waiting) each.destroy()
    silent?.kill('SIGKILL')
    live?.close()
  })

  /** The balancers choose the servers in turn, so one of two commands goes to the silent one first. */
  const expectServed = async (url: string): Promise<void> => {
    for (let each = 0; each < 2; each++) {
      const signal = AbortSignal.timeout(15_000)
      const response = await fetch(url, { method: 'POST', body: 'a command', signal })
      expect(await response.text()).toBe('served')
    }
  }

  test(
    'nginx as documented: another replica serves the command',
    needs(nginxIsInstalled(), 'nginx is not installed'),
    async () => {
      const port = await freePort()
      const http = block('nginx')
        .replace('10.0.0.11:8080', `127.0.0.1:${silentPort}`)
        .replace('10.0.0.12:8080', `127.0.0.1:${livePort}`)
        .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
        .replaceAll(/^ *ssl_certificate.*\n/gm, '')
      const nginx = await startNginx({}, http)
      try {
        await expectServed(`http://127.0.0.1:${port}/`)
      } finally {
        await nginx.stop()
      }
    },
  )

  test(
    'HAProxy as documented: another replica serves the command',
    needs(haproxyIsInstalled(), 'HAProxy is not installed'),
    async () => {
      const others = block('haproxy').replaceAll(/^(backend| *server) .*\n/gm, '')
      // Without checks, which would take out the silent server.
      const servers = [silentPort, livePort].map((port) => `server at${port} 127.0.0.1:${port} no-check`)
      const haproxy = await startHaproxy([...others.trim().split('\n'), ...servers])
      try {
        await expectServed(haproxy.url)
      } finally {
        await haproxy.stop()
      }
    },
  )
})
