import { expect, test, vi } from 'vitest'
import { UpstreamRefusal } from '../../src/backends/upstream/reply.ts'
import { assertFound, denied, notFound, Refusal, rateLimited } from '../../src/kernel/index.ts'

test('rateLimited rounds the wait up to seconds and reports when the limit resets', () => {
  const by = { name: 'code', limit: 3, windowMs: 60_000 }
  expect(rateLimited(1_500, 'too many', by).detail).toEqual({
    internal: 'too many',
    retryAfter: 2,
    limit: { ...by, resetMs: 1_500 },
  })
  expect(rateLimited(1_500, 'too many').detail).toEqual({ internal: 'too many', retryAfter: 2 })
})

test('a refusal of another copy of the package is a refusal', async () => {
  vi.resetModules()
  const copy = await import('../../src/kernel/refusal.ts')
  const refusal = new copy.Refusal('RESOURCE.NOT_FOUND')
  expect(copy.Refusal).not.toBe(Refusal)
  expect(refusal instanceof Refusal).toBe(true)
  expect(refusal instanceof UpstreamRefusal).toBe(false)
  expect([new Error('no refusal'), null, undefined, {}].some((value) => value instanceof Refusal)).toBe(false)
})

test('an UpstreamRefusal is a refusal, and no other refusal is an UpstreamRefusal', () => {
  const refusal = new UpstreamRefusal('RESOURCE.NOT_FOUND')
  expect([refusal instanceof Refusal, refusal instanceof UpstreamRefusal]).toEqual([true, true])
  expect(new Refusal('RESOURCE.NOT_FOUND') instanceof UpstreamRefusal).toBe(false)
})

test.each([null, undefined])('assertFound returns 0, and throws the refusal for %s', (nothing) => {
  expect(assertFound(0, 'no such number')).toBe(0)
  expect(() => assertFound(nothing, 'no such number')).toThrow(notFound('no such number'))
  expect(() => assertFound(nothing, 'ended', denied)).toThrow(expect.objectContaining(denied('ended')))
})
