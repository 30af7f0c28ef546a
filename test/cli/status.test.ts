import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runCli } from '../harness/cli.ts'

/** A forged message on Redis, or the error of a dependency. */
const hostile = 'away\u001b[2J\u009b31m\nledger     consistent\u2028PROBLEM: none'
const replica = {
  ...{ replica: 'app-1', version: hostile, role: 'gateway', startedAt: 'x', uptimeSeconds: 1, readiness: 'unready' },
  ...{ checks: { store: 'failed', [hostile]: hostile }, reasons: { store: hostile }, backends: { [hostile]: hostile } },
  ...{ queues: {}, clockSkewSeconds: 0, memoryBytes: { rss: 1, heapUsed: 1 }, eventLoopLagSeconds: 0 },
}
const shared = {
  ...{ ledger: null, audit: null, auditHead: null, jobs: null },
  ...{ eventsLagSeconds: null, webhookDeliveriesWaiting: null },
}
const status = { isHealthy: false, problems: [`app-1: ${hostile}`], replicas: [replica], missing: [], shared }
const entries = [{ replica: 'app-2', at: 7 }, null, { replica: 'app-1', at: hostile, internal: hostile, status: 503 }]

let server: Server
let url: string
beforeAll(async () => {
  server = createServer(({ url: path }, response) => {
    response.end(JSON.stringify(path === '/status' ? status : entries))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

const lines = (text: string) => text.split('\n').map((line) => line.trim())

test('status: texts of replicas neither control the terminal nor begin a line', async () => {
  const { code, out } = await runCli(['status', '--operations-url', url], {})
  expect(code).toBe(1)
  expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028]/u)
  expect(lines(out).filter((line) => line.startsWith('ledger'))).toEqual(['ledger      not checked yet'])
})

test('explain: skips an entry that it cannot read, and shows the others without control characters', async () => {
  const { code, out } = await runCli(['explain', 'an-id', '--operations-url', url], {})
  expect(code, out).toBe(0)
  expect(out).toMatch(/^status +503$/m)
  expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u2028]/u)
})
