import { expect, test } from 'vitest'
import { createInProcessBackend } from '../../src/backends/backend.ts'
import { listTimezones } from '../../src/banking/constants/contract.ts'
import { statusOf } from '../../src/contract/index.ts'
import { arrivedCall } from '../harness/call.ts'

const none = createInProcessBackend(new Map(), () => 1_024)

test('501 SYSTEM.NOT_IMPLEMENTED for an operation without a handler', () => {
  expect(() => none.handle(arrivedCall(listTimezones))).toThrow(
    expect.objectContaining({ code: 'SYSTEM.NOT_IMPLEMENTED' }),
  )
  expect(statusOf('SYSTEM.NOT_IMPLEMENTED')).toBe(501)
})

test("500 SYSTEM.INTERNAL_ERROR for a handler's reply that does not match its schema", () => {
  expect(none.replyError('reply does not match its schema: a.b: missing')).toMatchObject({
    code: 'SYSTEM.INTERNAL_ERROR',
    detail: { internal: 'reply does not match its schema: a.b: missing' },
  })
  expect(statusOf('SYSTEM.INTERNAL_ERROR')).toBe(500)
})
