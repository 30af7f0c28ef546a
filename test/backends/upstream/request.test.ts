import { describe, expect, test } from 'vitest'
import { buildRequest, buildStreamRequest } from '../../../src/backends/upstream/request.ts'
import { readFile } from '../../../src/banking/files/contract.ts'
import { arrivedCall } from '../../harness/call.ts'

function callWith(file_id: string) {
  return arrivedCall(readFile, { params: { file_id } })
}

describe.each([
  ['a JSON call', buildRequest],
  ['a stream', buildStreamRequest],
])('the path of %s', (_, build) => {
  test('a path parameter is percent-encoded', () => {
    expect(build(callWith('a b?#ä'), 'assertion').path).toBe('/web/v1/consumer/files/a%20b%3F%23%C3%A4')
  })

  test.each(['', '.', '..', 'a/b', '../x', 'a\\b', '%2e', 'a\0', 'a\n', 'a\x7f', '\u0085'])(
    'SYSTEM.INTERNAL_ERROR 500: no request is built for the path parameter %j',
    (value) => {
      expect(() => build(callWith(value), 'assertion')).toThrow(
        expect.objectContaining({ code: 'SYSTEM.INTERNAL_ERROR' }),
      )
    },
  )

  test('SYSTEM.INTERNAL_ERROR 500: no request is built without the path parameter', () => {
    expect(() => build(arrivedCall(readFile), 'assertion')).toThrow(
      expect.objectContaining({ code: 'SYSTEM.INTERNAL_ERROR' }),
    )
  })
})
