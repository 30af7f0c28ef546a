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

/** A server at the moment when it is asked for TLS: what it says to that, and what it hears next, in which way. */
let server: Server
let port = 0
let speaksTls = true
let heard: string[] = []

/** A start-up message names the user; whatever comes of it, the connection ends. */
const hear = (socket: Socket, way: string): void =>
  void socket
    .on('error', () => undefined)
    .on('data', (bytes: Buffer) => {
      heard.push(`${way}: ${bytes.includes('portico_user') ? 'the user' : 'something else'}`)
      socket.destroy()
    })

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

beforeAll(async () => {
  server = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', (first: Buffer) => {
        if (!first.equals(sslRequest)) {
          heard.push('unasked')
          socket.destroy()
        } else if (speaksTls) {
          socket.write('S')
          hear(new TLSSocket(socket, { isServer: true, key, cert }), 'sealed')
        } else {
          socket.write('N')
          hear(socket, 'in the clear')
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
  heard = []
  speaksTls = true
})

const urlOf = (host: string, more = '') =>
  `postgres://portico_user:secret@${host}:${port}/db?sslmode=verify-full${more}`
const open = (url: string) =>
  openDatabase({
    ...{ kind: 'postgres', url, poolSize: 1, connectTimeoutMs, statementTimeoutMs: 20_000, lockTimeoutMs: 20_000 },
    onConnectionBroken: () => undefined,
  })
const alone = (url: string) => acquireSingletonLock({ url, connectTimeoutMs, onChange: () => undefined })

test.each([
  ['the store', open],
  ['the lock of a gateway that is alone', alone],
])('%s is asked over TLS alone where DATABASE_URL says sslmode=verify-full', async (_name, ask) => {
  const why = (url: string): Promise<string> => ask(url).then(String, inspect)
  const trusting = `&sslrootcert=${ca}`
  await why(urlOf('127.0.0.1', trusting))
  expect(heard).toEqual(['sealed: the user'])

  heard = []
  expect(await why(urlOf('127.0.0.1'))).toContain('self-signed')
  expect(await why(urlOf('localhost', trusting))).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
  speaksTls = false
  expect(await why(urlOf('127.0.0.1', trusting))).toContain('does not support SSL')
  expect(heard).toEqual([])
})
