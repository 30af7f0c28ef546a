import { expect, test } from 'vitest'
import { hasUnsafeSegment, isUnsafeSegment } from '../../../src/gateway/pipeline/paths.ts'

test.each(['.', '..', '..;', '.;x', '..;a=b', ';..', 'a;..;b', 'a/b', 'a\\b', 'a%b', '\0', '\x7f', '\u0085'])(
  'isUnsafeSegment: %j could lead a service to another path',
  (segment) => expect(isUnsafeSegment(segment)).toBe(true),
)

test.each(['', 'a', '...', 'a..', '..a', 'a;b', 'a;x=..', ';jsessionid=1', 'a b', '中'])(
  'isUnsafeSegment: %j is an ordinary segment',
  (segment) => expect(isUnsafeSegment(segment)).toBe(false),
)

test.each(['/a/..%3bx', '/a/%2e%2e;/b', '/a%2Fb', '/%ff', '/a/%252e%252e'])(
  'hasUnsafeSegment: escapes of %j are decoded, once',
  (path) => expect(hasUnsafeSegment(path)).toBe(true),
)

test('hasUnsafeSegment: a path of ordinary segments', () => {
  expect(hasUnsafeSegment('/legacy/a%20b/;x=1/')).toBe(false)
})
