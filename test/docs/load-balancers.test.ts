import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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

function nginxConfiguration(port: number, servers: [first: number, second: number]): string {
  return block('nginx')
    .replace('10.0.0.11:8080', `127.0.0.1:${servers[0]}`)
    .replace('10.0.0.12:8080', `127.0.0.1:${servers[1]}`)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_certificate.*\n/gm, '')
}

/** Without checks, which would take out a silent server. */
function haproxyBackend(servers: number[]): string[] {
  const others = block('haproxy').replaceAll(/^(backend| *server) .*\n/gm, '')
  return [...others.trim().split('\n'), ...servers.map((port) => `server at${port} 127.0.0.1:${port} no-check`)]
}

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
      const nginx = await startNginx({}, nginxConfiguration(port, [silentPort, livePort]))
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
      const haproxy = await startHaproxy(haproxyBackend([silentPort, livePort]))
      try {
        await expectServed(haproxy.url)
      } finally {
        await haproxy.stop()
      }
    },
  )
})

describe('a replica dies before its response', () => {
  let replicas: Server[] = []
  let ports: [first: number, second: number] = [0, 0]
  /** The path of each request that a replica has received. */
  let received: string[] = []

  /** Breaks the connection of the first request for each path, like a process that dies. */
  const answer: RequestListener = (request, response) => {
    const path = request.url ?? ''
    const isRepeated = received.includes(path)
    received.push(path)
    request.resume().on('end', () => (isRepeated ? response.end('served') : response.destroy()))
  }

  beforeAll(async () => {
    replicas = [createServer(answer), createServer(answer)]
    ports = [await freePort(), await freePort()]
    for (const [index, each] of replicas.entries()) await once(each.listen(ports[index], '127.0.0.1'), 'listening')
  })
  beforeEach(() => {
    received = []
  })
  afterAll(() => {
    for (const each of replicas) each.close()
  })

  /** The balancers close the connection or respond with 502. */
  const isServed = async (url: string, init: RequestInit): Promise<boolean> => {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(15_000) }).catch(() => null)
    return response?.status === 200
  }

  const expectRepeated = async (url: string, methods: readonly string[]): Promise<void> => {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      received = []
      const body = method === 'GET' || method === 'HEAD' ? null : '{}'
      const isRepeated = methods.includes(method)
      expect(await isServed(url, { method, body }), method).toBe(isRepeated)
      expect(received, method).toHaveLength(isRepeated ? 2 : 1)
    }
  }

  test(
    'nginx as documented: repeats no POST and PATCH',
    needs(nginxIsInstalled(), 'nginx is not installed'),
    async () => {
      const port = await freePort()
      const nginx = await startNginx({}, nginxConfiguration(port, ports))
      try {
        await expectRepeated(`http://127.0.0.1:${port}`, ['GET', 'HEAD', 'PUT', 'DELETE'])
      } finally {
        await nginx.stop()
      }
    },
  )

  test(
    'HAProxy as documented: repeats reads, but neither commands nor signed requests',
    needs(haproxyIsInstalled(), 'HAProxy is not installed'),
    async () => {
      const haproxy = await startHaproxy(haproxyBackend(ports))
      const bearer = (header: object) => {
        const [encoded, claims] = [header, {}].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        return { authorization: `Bearer ${encoded}.${claims}.c2lnbmF0dXJl` }
      }
      try {
        await expectRepeated(haproxy.url, ['GET', 'HEAD'])
        received = []
        const signed = bearer({ alg: 'EdDSA', typ: 'client-authentication+jwt' })
        expect(await isServed(`${haproxy.url}/signed`, { headers: signed })).toBe(false)
        expect(await isServed(`${haproxy.url}/session`, { headers: bearer({ alg: 'EdDSA', typ: 'at+jwt' }) })).toBe(
          true,
        )
        expect(received).toEqual(['/signed', '/session', '/session'])
      } finally {
        await haproxy.stop()
      }
    },
  )
})
