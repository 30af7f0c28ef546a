import { expect, test } from 'vitest'
import { readReply } from '../../src/backends/upstream-reply.ts'
import { Refusal, type RefusalDetail } from '../../src/kernel/index.ts'

const refusedBy = (code: string, rateLimitPolicy: string, retryAfter = '17'): RefusalDetail => {
  const bytes = Buffer.from(JSON.stringify({ success: false, code, message: '', data: null }))
  try {
    readReply({ status: 429, contentType: 'application/json', retryAfter, rateLimitPolicy, bytes })
  } catch (error) {
    if (error instanceof Refusal) return error.detail
    throw error
  }
  throw new Error('not refused')
}

test('429 ACCESS.RATE_LIMITED of an upstream tells of the limit that it names, used up until its wait is over', () => {
  const limit = { name: 'exports', limit: 5, windowMs: 3_600_000, resetMs: 17_000 }
  expect(refusedBy('ACCESS.RATE_LIMITED', '"exports";q=5;w=3600')).toMatchObject({ retryAfter: 17, limit })
  expect(refusedBy('ACCESS.RATE_LIMITED', '"exports";q=5;w=3600', '')).toMatchObject({
    retryAfter: 1,
    limit: { ...limit, resetMs: 1_000 },
  })
})

test.each([
  '',
  'exports;q=5;w=3600',
  '"exports";q=5',
  '"exports";q=5;w=3600, "other";q=1;w=1',
  '"exports";q=5;w=3600;x=y',
  '"";q=5;w=3600',
  '"EXPORTS";q=5;w=3600',
  '"a\r\nx: y";q=5;w=3600',
  '"exports";q=-5;w=3600',
  '"exports";q=99999999999;w=3600',
])('429 of an upstream with the policy %j names no limit of its own', (policy) => {
  expect(refusedBy('ACCESS.RATE_LIMITED', policy).limit).toBeUndefined()
})

test('409 of an upstream speaks of no limit, whatever it names', () => {
  expect(refusedBy('STATE.CONFLICT', '"exports";q=5;w=3600').limit).toBeUndefined()
})
