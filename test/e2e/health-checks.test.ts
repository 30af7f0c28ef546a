import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { haproxyIsInstalled, startHaproxy } from '../harness/haproxy.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

const guide = readFileSync(new URL('../../docs/guides/load-balancers.md', import.meta.url), 'utf8')
const haproxyLines = (/^```haproxy\n([\s\S]*?)^```$/m.exec(guide)?.[1] ?? '')
  .trim()
  .split('\n')
  .filter((line) => !/^(backend| *server) /.test(line))
  .map((line) => line.trim())

describe('health checks of load balancers', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const statusOf = async (head: string): Promise<number> => {
    const { port, hostname } = new URL(portico.operationsUrl)
    const socket = connect(Number(port), hostname)
    socket.end(`${head}\r\n\r\n`)
    return Number((await text(socket)).split(' ')[1])
  }

  test.each(['/health/live', '/health/ready'])('GET %s 200: under any Host, and without one', async (path) => {
    expect(await statusOf(`GET ${path} HTTP/1.0`)).toBe(200)
    for (const host of ['portico_operations', 'outbound|9090||portico.default', 'httproute/portico/rule/0', ''])
      expect(await statusOf(`GET ${path} HTTP/1.1\r\nConnection: close\r\nHost: ${host}`), host).toBe(200)
  })

  test('GET /health/ready 400: HTTP/1.1 requires exactly one Host', async () => {
    expect(await statusOf('GET /health/ready HTTP/1.1\r\nConnection: close')).toBe(400)
    expect(await statusOf('GET /health/ready HTTP/1.1\r\nConnection: close\r\nHost: a\r\nHost: b')).toBe(400)
  })

  test.each(['/metrics', '/mail.json', '/.well-known/jwks.json', '/explain/x', '/health', '/health/other'])(
    'GET %s 421: other pages keep the check of the Host',
    async (path) => {
      expect(await statusOf(`GET ${path} HTTP/1.1\r\nConnection: close\r\nHost: attacker.example`)).toBe(421)
      expect(await statusOf(`GET ${path} HTTP/1.0`)).toBe(421)
    },
  )

  test('a Host that is not a valid name 400: except for health checks', async () => {
    expect(await statusOf('GET /metrics HTTP/1.1\r\nConnection: close\r\nHost: a|b')).toBe(400)
  })

  test(
    'HAProxy: the configuration of the guide finds the server ready',
    needs(haproxyIsInstalled(), 'HAProxy is not installed'),
    async () => {
      expect(haproxyLines).toContain('option httpchk')
      const { port } = new URL(portico.operationsUrl)
      const server = `server a ${new URL(portico.url).host} port ${port} inter 100ms rise 1 fall 1`
      const haproxy = await startHaproxy([...haproxyLines, server])
      try {
        // HAProxy itself would respond with 503.
        const codeBehind = async () =>
          (
            await fetch(`${haproxy.url}/web/v1/consumer/nothing`).then(
              (reply) => reply.json(),
              () => null,
            )
          )?.code
        await expect.poll(codeBehind).toBe('ROUTE.NOT_FOUND')
        // Long enough for a failed check to take the server down.
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        expect(await codeBehind()).toBe('ROUTE.NOT_FOUND')
      } finally {
        await haproxy.stop()
      }
    },
  )
})
