import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Upstream } from '../../../src/backends/upstream/upstream.ts'
import { listTimezones } from '../../../src/banking/constants/contract.ts'
import { downloadFile, uploadFile } from '../../../src/banking/files/contract.ts'
import { updateProfile } from '../../../src/banking/profile/contract.ts'
import { clientDisconnected } from '../../../src/gateway/pipeline/call.ts'
import { type Operation, StreamReply } from '../../../src/kernel/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { arrivedCall, clientOf } from '../../harness/call.ts'
import { readReport } from '../../harness/raw-operation.ts'
import { json, rawResponse } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { openUpstream } from '../../harness/upstream.ts'

const gone = 'REQUEST.MALFORMED'

let server: Server
let port: number
let behave: (socket: Socket) => void
/** A TLS handshake or a request each send one. */
let received = 0
const sockets = new Set<Socket>()
beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.on('data', () => {
      received += 1
      behave(socket)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
})
afterEach(() => {
  received = 0
})
afterAll(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

async function withUpstream(
  scheme: 'http' | 'https',
  use: (upstream: Upstream) => Promise<void>,
  assertionOf = async () => 'an assertion',
) {
  const settings = upstreamAt(`${scheme}://127.0.0.1:${port}`, { timeoutMs: 20_000, connections: 1 })
  const upstream = openUpstream(settings, { assertionOf }, 20_000)
  await use(upstream)
  for (const socket of sockets) socket.destroy()
  await upstream.close()
}

function leavingCall(operation: Operation) {
  const disconnect = new AbortController()
  const call = arrivedCall(operation, { params: { file_id: 'a' }, client: clientOf(disconnect.signal) })
  return { call, leave: () => disconnect.abort(clientDisconnected()) }
}

const operations: [string, Operation][] = [
  ['a JSON reply', listTimezones],
  ['a download', downloadFile],
  ['a raw reply', readReport],
]

describe.each(operations)('a client that waits for %s disconnects', (_name, operation) => {
  test('before the call assertion is signed: the request is not sent', async () => {
    const signed = Promise.withResolvers<string>()
    behave = () => undefined
    await withUpstream(
      'http',
      async (upstream) => {
        const { call, leave } = leavingCall(operation)
        const outcome = refusalOf(upstream.handle(call))
        leave()
        signed.resolve('an assertion')
        expect([await outcome, received]).toEqual([gone, 0])
      },
      () => signed.promise,
    )
  })

  test('during the TLS handshake: its slot is free', async () => {
    behave = () => undefined
    await withUpstream('https', async (upstream) => {
      const { call, leave } = leavingCall(operation)
      const outcome = refusalOf(upstream.handle(call))
      await expect.poll(() => received).toBe(1)
      leave()
      expect(await outcome).toBe(gone)
    })
  })

  test('while it waits for the head: the connection is closed, and the next request gets another', async () => {
    behave = () => undefined
    await withUpstream('http', async (upstream) => {
      const { call, leave } = leavingCall(operation)
      const outcome = refusalOf(upstream.handle(call))
      await expect.poll(() => received).toBe(1)
      leave()
      expect(await outcome).toBe(gone)
      await expect.poll(() => sockets.size).toBe(0)
      behave = (socket) => void socket.write(json([]))
      const reply = await upstream.handle(leavingCall(operation).call)
      if (reply instanceof StreamReply) reply.body.destroy()
      else expect(reply).toEqual([])
    })
  })

  test('before a retry: there is none', async () => {
    await withUpstream('http', async (upstream) => {
      const { call, leave } = leavingCall(operation)
      behave = (socket) => {
        socket.destroy()
        leave()
      }
      expect(await refusalOf(upstream.handle(call))).toBe(gone)
      expect(received).toBe(1)
    })
  })
})

describe('a client of a command disconnects', () => {
  test('profile.update: the request runs on', async () => {
    await withUpstream('http', async (upstream) => {
      const { call, leave } = leavingCall(updateProfile)
      behave = (socket) => {
        leave()
        setTimeout(() => socket.write(json('done')), 100)
      }
      expect(await upstream.handle(call)).toBe('done')
    })
  })

  test('profile.update: a request without a connection is not sent', async () => {
    behave = () => undefined
    await withUpstream('https', async (upstream) => {
      const { call, leave } = leavingCall(updateProfile)
      const outcome = refusalOf(upstream.handle(call))
      await expect.poll(() => received).toBe(1)
      leave()
      expect(await outcome).toBe(gone)
    })
  })

  test('files.upload: the request runs on once its body is complete', async () => {
    await withUpstream('http', async (upstream) => {
      const { call, leave } = leavingCall(uploadFile)
      const bytes = new PassThrough()
      call.upload = { contentType: 'multipart/form-data; boundary=b', bytes }
      bytes.end('--b--')
      behave = (socket) => {
        if (!bytes.readableEnded) return
        leave()
        setTimeout(() => socket.write(rawResponse('200 OK', { 'content-type': 'application/json' }, '"done"')), 100)
      }
      expect(await upstream.handle(call)).toBe('done')
    })
  })
})
