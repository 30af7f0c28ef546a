import { expect, test } from 'vitest'
import { sendRequest } from '../../../src/backends/upstream/client.ts'
import { openPool, toConnectionRefusal } from '../../../src/backends/upstream/connection.ts'
import { upstream } from '../../../src/config/backends.ts'
import { statusOf } from '../../../src/contract/index.ts'
import { systemDurations } from '../../../src/platform/runtime/index.ts'

function refusalOf(error: unknown) {
  const { code, detail } = toConnectionRefusal(error)
  return [statusOf(code), code, detail.retryAfter]
}

test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'])(
  '%s: 503 with Retry-After of one second for an unreachable upstream',
  (code) => {
    expect(refusalOf(Object.assign(new Error('connect'), { code }))).toEqual([503, 'SYSTEM.UNAVAILABLE', 1])
  },
)

test.each(['close', 'destroy'] as const)('503 for a request after %s of the pool', async (how) => {
  const pool = openPool(upstream.parse({ url: 'http://127.0.0.1:9', audience: 'nobody' }))
  const limits = { maxReplyBytes: 100, durations: systemDurations, remainingMs: 1_000 }
  const requestLater = () => sendRequest(pool, { method: 'GET', path: '/' }, limits).catch(refusalOf)
  const [, duringClose] = await Promise.all([pool[how](), requestLater()])
  expect([duringClose, await requestLater()]).toEqual(Array(2).fill([503, 'SYSTEM.UNAVAILABLE', 1]))
})
