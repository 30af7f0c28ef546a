import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { type LabelService, replyLabel, startLabelService } from '../harness/label-service.ts'
import { needsPostgres } from '../harness/needs.ts'
import type { TestPostgres } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { seededDirectory } from '../harness/template.ts'
import { createClient, sendRequest, signedIn, type User } from './client.ts'

const postgres: TestPostgres | undefined = await seededPostgres({ synchronous_commit: 'on' })
const { directory, remove } = await seededDirectory()

afterAll(async () => {
  await postgres?.stop()
  await remove()
})

describe.each([
  ['the embedded store', { PORTICO_DATA_DIR: directory }],
  ['PostgreSQL', { DATABASE_URL: postgres?.url ?? '', PORTICO_DATA_DIR: directory }],
] as const)('the gateway is killed while a service executes a command, on %s', (name, variables) => {
  const isSkipped = name === 'PostgreSQL' && !postgres
  let gateway: PorticoProcess
  let service: LabelService
  let user: User
  const start = async () => {
    gateway = await startConfigured(
      { ...variables, PORTICO_RATE_LIMIT_SCALE: '1000' },
      { operations: ['test/harness/labels.yaml'], backends: { labels: { url: service.url, timeoutMs: 1_000 } } },
    )
  }
  beforeAll(async () => {
    if (isSkipped) return
    service = await startLabelService()
    await start()
    user = await signedIn(createClient(() => [gateway]))
  })
  afterAll(async () => {
    await gateway?.stop()
    service?.close()
  })

  test(
    'labels.create: after the claim expires, a retry with the same body is sent again with the same id',
    needsPostgres(!isSkipped),
    async () => {
      const requestId = randomUUID()
      const create = (note = 'a') =>
        sendRequest(user, 'POST', '/labels', { headers: { 'x-request-id': requestId }, body: { note } })
      const received = Promise.withResolvers<void>()
      service.reply = () => received.resolve()
      const lost = create().catch(() => undefined)
      await received.promise
      gateway.child.kill('SIGKILL')
      await once(gateway.child, 'exit')
      await lost
      service.reply = replyLabel
      await start()
      expect((await create('b')).body.code).toBe('REQUEST.ID_REUSED')
      await expect.poll(async () => (await create()).status, { timeout: 15_000, interval: 300 }).toBe(200)
      expect((await create()).body.data).toEqual({ number: 2, note: 'a' })
      expect(service.seen.map((each) => each.requestId)).toEqual([requestId, requestId])
    },
  )
})
