import { expect, test } from 'vitest'
import { rateLimited } from '../../src/kernel/index.ts'

test('rateLimited rounds the wait up to seconds and reports when the limit resets', () => {
  const by = { name: 'code', limit: 3, windowMs: 60_000 }
  expect(rateLimited(1_500, 'too many', by).detail).toEqual({
    internal: 'too many',
    retryAfter: 2,
    limit: { ...by, resetMs: 1_500 },
  })
  expect(rateLimited(1_500, 'too many').detail).toEqual({ internal: 'too many', retryAfter: 2 })
})
