import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { openRedis } from '../../../src/platform/redis/index.ts'
import { selfSigned } from '../../harness/certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-redis-tls-'))
const { key, cert } = selfSigned(folder, 'DNS:localhost')
const trusted = getCACertificates('default')

afterAll(() => {
  setDefaultCACertificates(trusted)
  rmSync(folder, { recursive: true })
})

/**
 * What a server of its own has heard by the time that it is given up. Two connections are made, and the first that fails ends
 * the attempt: what the other one says comes later, and is none of the next server's.
 */
const told = async (host: string, cluster: boolean): Promise<string> => {
  let heard = ''
  const server = createServer({ key, cert }, (socket) => {
    socket.on('data', (bytes: Buffer) => {
      heard += bytes
      socket.destroy()
    })
    socket.on('error', () => undefined)
  })
  server.on('tlsClientError', () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const opened = openRedis({
    ...{ url: `rediss://:planted-password@${host}:${port}`, cluster },
    ...{ connectTimeoutMs: 20_000, commandTimeoutMs: 20_000 },
    ...{ onError: () => undefined, onReady: () => undefined, onEvicting: () => undefined },
  })
  await expect(opened).rejects.toThrow('REDIS_URL')
  server.close()
  return heard
}

test.each([
  ['one server', false],
  ['a node of a cluster', true],
])(
  '%s is told the password of a rediss URL where its certificate is for the name in it, and nowhere else',
  async (_name, cluster) => {
    setDefaultCACertificates(trusted)
    expect(await told('localhost', cluster)).toBe('')
    setDefaultCACertificates([...trusted, String(cert)])
    expect(await told('localhost', cluster)).toContain('planted-password')
    expect(await told('127.0.0.1', cluster)).toBe('')
  },
)
