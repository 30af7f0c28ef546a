import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createUpstreamMetrics } from '../../src/backends/index.ts'
import { createRoutes } from '../../src/backends/routes.ts'
import { createUpstream } from '../../src/backends/upstream.ts'
import { downloadFile } from '../../src/contract/files.ts'
import { Refusal, StreamReply } from '../../src/kernel/index.ts'
import { arrivedCall } from '../harness/call.ts'
import { testSettings, upstreamAt } from '../harness/settings.ts'
import { testClock } from '../identity/clock.ts'

test('domains of equal settings share one upstream, its places and its breaker; others have their own', async () => {
  const at = (timeoutMs: number) => upstreamAt('http://127.0.0.1:9', { timeoutMs })
  const { assertion } = testSettings({})
  const here = { handle: async () => null, broken: () => new Refusal('SYSTEM.INTERNAL_ERROR') }
  const { backendOf, close } = await createRoutes({
    here,
    settings: {
      assertion,
      backends: { default: at(100), constants: at(200), files: at(200), profile: at(300), wallets: 'in-process' },
    },
    signer: { sign: async () => 'an assertion' },
    clock: testClock(),
    metrics: createUpstreamMetrics(new Registry()),
  })
  expect(backendOf('files')).toBe(backendOf('constants'))
  expect(backendOf('roles')).toBe(backendOf('exchanges'))
  expect(new Set(['files', 'profile', 'roles', 'wallets'].map(backendOf)).size).toBe(4)
  expect(backendOf('wallets')).toBe(here)
  await close()
})

test('files.download: streams wait for one of as many connections as there may be', async () => {
  let connections = 0
  const server = createServer((_request, response) => void response.writeHead(200, { 'content-length': 3 }).write('a'))
  server.on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const settings = upstreamAt(url, { connections: 1 })
  const upstream = createUpstream(settings, async () => 'an assertion', createUpstreamMetrics(new Registry()))
  const download = () => upstream.handle(arrivedCall(downloadFile, { params: { file_id: 'one' } }))
  const first = await download()
  const second = download()
  await pause(100)
  expect([first instanceof StreamReply, connections]).toEqual([true, 1])
  if (first instanceof StreamReply) first.body.destroy()
  const reply = await second
  expect([reply instanceof StreamReply, connections]).toEqual([true, 2])
  if (reply instanceof StreamReply) reply.body.destroy()
  await upstream.close()
  server.closeAllConnections()
  server.close()
})
