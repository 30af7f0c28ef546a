import { expect, test } from 'vitest'
import { inProcess } from '../../src/backends/in-process.ts'
import { listTimezones } from '../../src/domains/constants/contract.ts'
import { arrivedCall } from '../harness/call.ts'

const none = inProcess(new Map())

test('501 SYSTEM.NOT_IMPLEMENTED for what is declared and has no handler yet', () => {
  expect(() => none.handle(arrivedCall(listTimezones))).toThrow(
    expect.objectContaining({ status: 501, code: 'SYSTEM.NOT_IMPLEMENTED' }),
  )
})

test('500 for a reply of our own that breaks its promise: the fault is no upstream’s', () => {
  expect(none.broken('a.b: missing')).toMatchObject({
    status: 500,
    code: 'SYSTEM.INTERNAL_ERROR',
    detail: { internal: 'reply breaks its schema: a.b: missing' },
  })
})
