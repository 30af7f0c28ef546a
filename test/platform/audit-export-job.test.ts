import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  auditExportJob,
  exportAuditLog,
  insertAuditEntry,
  type SendEntries,
  sealAuditLog,
  sendToWebhook,
} from '../../src/platform/audit/index.ts'
import { createJobRunner, enqueueJob } from '../../src/platform/jobs/index.ts'
import { systemIds as ids } from '../../src/platform/runtime/index.ts'
import { testClock } from '../identity/clock.ts'
import { embeddedStore, type TestStore } from '../ledger/stores.ts'

const clock = testClock()
let store: TestStore
beforeAll(async () => {
  store = await embeddedStore()
})
afterAll(() => store?.close())
beforeEach(async () => {
  await insertAuditEntry(store.database, {
    ...{ at: clock.now(), portal: 'SYSTEM', actorId: null, workspaceId: null, action: 'test.act', targetId: null },
    ...{ outcome: 'SUCCESS', requestId: 'x', clientIp: '203.0.113.7', detail: {} },
  })
  await sealAuditLog(store.database)
})

test('audit.export: a receiver that is down gets fewer and fewer requests, up to one in five minutes', async () => {
  let now = 0
  let isDown = true
  const attempts: number[] = []
  const send: SendEntries = async () => {
    attempts.push(now / 1_000)
    if (isDown) throw new Error('down')
  }
  const { work } = auditExportJob({ database: store.database, durations: { now: () => now }, send })
  const facts = { jobId: 'a job', attempt: 1, signal: new AbortController().signal, drop: () => undefined }
  const runFor = async (seconds: number) => {
    for (const end = now + seconds * 1_000; now < end; now += 1_000) await work({}, facts).catch(() => undefined)
  }
  await runFor(1_200)
  expect(attempts).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1_111])
  isDown = false
  await runFor(300)
  expect(attempts.slice(12)).toEqual([1_411])
})

test('audit.export: slow webhooks that occupy the workers of long jobs do not delay it', async () => {
  let exported = 0
  const slow = Promise.withResolvers<void>()
  const send: SendEntries = async (entries) => {
    exported += entries.length
  }
  const { database } = store
  const runner = createJobRunner({
    ...{ database, clock, ids, settings: { concurrency: 2, longJobs: 1, pollMs: 10, leaseMs: 60_000 } },
    kinds: [
      { name: 'slow', attempts: 1, isLong: true, work: () => slow.promise },
      auditExportJob({ database, durations: { now: () => 0 }, send }),
    ],
    onDropped: () => undefined,
    onFailure: ({ error }) => expect.unreachable(String(error)),
  })
  for (let job = 0; job < 3; job++) await enqueueJob(database, ids, { kind: 'slow', payload: {}, at: clock.now() })
  clock.advance(1)
  await runner.start()
  await expect.poll(() => exported).toBe(1)
  slow.resolve()
  await runner.stop()
})

test('audit.export: a restored copy sends other entries under other ids, so that no receiver drops them as a retry', async () => {
  const sent: string[] = []
  const sender = {
    send: async ({ id }: { id: string }) => {
      sent.push(id)
      return { status: 204, body: '', retryAfter: null, failure: null, durationMs: 0 }
    },
  }
  const send = sendToWebhook(sender, { url: 'https://siem.example', secret: new Uint8Array(32) })
  const batches: Parameters<SendEntries>[0][] = []
  const { database } = store
  const never = new AbortController().signal
  await exportAuditLog(database, async (entries) => void batches.push(entries), never)
  const [original] = batches
  const restored = original?.map((entry) => ({ ...entry, hash: 'f'.repeat(64) }))
  for (const batch of [original, original, restored]) await send(batch ?? expect.fail('no batch'), never)
  expect(sent[0]).toBe(sent[1])
  expect(sent[2]).not.toBe(sent[0])
})
