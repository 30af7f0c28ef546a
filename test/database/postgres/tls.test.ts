import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { inspect } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { acquireSingletonLock, openDatabase } from '../../../src/database/index.ts'
import { selfSigned } from '../../harness/certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-postgres-tls-'))
const { file: ca, key, cert } = selfSigned(folder, 'IP:127.0.0.1')
const connectTimeoutMs = 20_000

/** Accepts or declines TLS, and records how the next message arrived. */
let server: Server
let port = 0
let speaksTls = true
let received: string[] = []

/** A start-up message names the user. */
function record(socket: Socket, transport: string): void {
  socket
    .on('error', () => undefined)
    .on('data', (bytes: Buffer) => {
      received.push(`${transport}: ${bytes.includes('portico_user') ? 'the user' : 'something else'}`)
      socket.destroy()
    })
}

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

beforeAll(async () => {
  server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', (first: Buffer) => {
        if (!first.equals(sslRequest)) {
          received.push('no TLS request')
          socket.destroy()
        } else if (speaksTls) {
          socket.write('S')
          record(new TLSSocket(socket, { isServer: true, key, cert }), 'sealed')
        } else {
          socket.write('N')
          record(socket, 'in the clear')
        }
      })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  received = []
  speaksTls = true
})

function urlOf(host: string, more = '') {
  return `postgres://portico_user:secret@${host}:${port}/db?sslmode=verify-full${more}`
}
function open(url: string) {
  return openDatabase({
    ...{ kind: 'postgres', url, poolSize: 1, connectTimeoutMs, statementTimeoutMs: 20_000, lockTimeoutMs: 20_000 },
    onConnectionBroken: () => undefined,
  })
}
function lock(url: string) {
  return acquireSingletonLock({ url, connectTimeoutMs, onChange: () => undefined })
}

test.each([
  ['the store', open],
  ['the singleton lock', lock],
])('%s with sslmode=verify-full: connects only over TLS with a valid certificate', async (_name, connect) => {
  const errorOf = (url: string): Promise<string> => connect(url).then(String, inspect)
  const trusting = `&sslrootcert=${ca}`
  await errorOf(urlOf('127.0.0.1', trusting))
  expect(received).toEqual(['sealed: the user'])

  received = []
  expect(await errorOf(urlOf('127.0.0.1'))).toContain('self-signed')
  expect(await errorOf(urlOf('localhost', trusting))).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
  speaksTls = false
  expect(await errorOf(urlOf('127.0.0.1', trusting))).toContain('does not support SSL')
  expect(received).toEqual([])
})
