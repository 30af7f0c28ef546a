import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { closeListener } from '../../../src/gateway/http/graceful-shutdown.ts'
import type { WaitingClients } from './waiting-clients.ts'

async function listening(listener: RequestListener) {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { server, port, open: () => connect(port, '127.0.0.1') }
}

function received(socket: ReturnType<typeof connect>): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (bytes) => {
      text += bytes
    })
    socket.on('error', (error) => resolve(error.message)).on('close', () => resolve(text))
  })
}

test('closeListener answers every connection in the accept backlog and resets none', async () => {
  const { server, port } = await listening((_request, response) => response.end('served'))
  const input: WaitingClients = { port, clients: 40, created: new Int32Array(new SharedArrayBuffer(4)) }
  const responses = once(new Worker(new URL('./waiting-clients.ts', import.meta.url), { workerData: input }), 'message')
  // Block this thread, which would accept connections, until the system has established all of them.
  for (let created = 0; created < input.clients; created = Atomics.load(input.created, 0))
    Atomics.wait(input.created, 0, created)
  const closed = closeListener(server, 5_000)
  const [received] = await responses
  expect(received).toEqual(Array(input.clients).fill(expect.stringMatching(/^HTTP\/1.1 200 OK[\s\S]*served/)))
  expect(await closed).toBe(0)
})

test('closeListener ends idle connections, waits for busy ones and destroys those past the timeout', async () => {
  const { server, open } = await listening((request, response) => {
    if (request.url === '/slow') setTimeout(() => response.end('served'), 200)
    else if (request.url === '/') response.end('served')
  })
  const call = (path: string) => {
    const socket = open()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    return { socket, end: received(socket) }
  }
  const idle = call('/')
  await once(idle.socket, 'data')
  const slow = call('/slow')
  await once(server, 'request')
  const endless = call('/endless')
  await once(server, 'request')
  const order: string[] = []
  const closed = closeListener(server, 1_500).then((cut) => order.push(`${cut} cut`))
  const ends = [idle.end.then(() => order.push('idle')), slow.end.then(() => order.push('slow'))]
  await Promise.all([...ends, endless.end, closed])
  expect(await slow.end).toContain('served')
  expect(await endless.end).toBe('')
  expect(order).toEqual(['idle', 'slow', '1 cut'])
})

test('closeListener closes a server that never listened', async () => {
  expect(await closeListener(createServer(), 1_000)).toBe(0)
})
