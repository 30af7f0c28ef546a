import { expect, test } from 'vitest'
import { statusOf } from '../../src/contract/index.ts'
import { createTransfer } from '../../src/domains/transfers/contract.ts'
import { type Finished, requestLog } from '../../src/gateway/index.ts'
import { Refusal, type RefusalDetail } from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { arrivedCall, headersOf } from '../harness/call.ts'
import { captureLog } from '../harness/log.ts'

const caller = {
  accountId: systemIds.next<'account'>(),
  portal: 'CONSUMER' as const,
  sessionId: systemIds.next<'session'>(),
  apiKeyId: systemIds.next(),
  steppedUpAt: null,
  permissions: new Set<never>(),
}
const workspace = { id: systemIds.next<'workspace'>(), isOwner: false, permissions: new Set<never>() }

const lineOf = (finished: Partial<Finished>) => {
  const { logger, lines } = captureLog()
  requestLog(logger)({ requestId: 'one', call: null, refusal: null, status: 200, ms: 1.234, ...finished })
  return { ...lines[0], time: undefined }
}

test('the line of a request tells who asked for what from where, and nothing else of it', () => {
  const headers = headersOf({ authorization: 'Bearer token', 'x-client-hash': 'hash' })
  const call = arrivedCall(createTransfer, { headers, query: 'a=b' })
  const input = { query: { a: 'b' }, body: { amount: '1.00' } }
  Object.assign(call, { caller, workspace, input, clientIp: '203.0.113.9', country: 'JP', userAgent: 'a browser' })
  expect(lineOf({ call })).toEqual({
    level: 'info',
    msg: 'request',
    requestId: 'one',
    status: 200,
    ms: 1.23,
    operation: 'transfers.create',
    chain: 'consumer',
    method: 'POST',
    clientIp: '203.0.113.9',
    country: 'JP',
    account: caller.accountId,
    session: caller.sessionId,
    apiKey: caller.apiKeyId,
    workspace: workspace.id,
    userAgent: 'a browser',
  })
})

const refusedBy = (
  code: 'SYSTEM.INTERNAL_ERROR' | 'SYSTEM.NOT_IMPLEMENTED' | 'STATE.CONFLICT',
  detail: RefusalDetail,
) => {
  const refusal = new Refusal(code, detail)
  return lineOf({ refusal, status: statusOf(refusal.code) })
}

test('of a refusal it says why; a fault alone is an error, with its cause', () => {
  const why = { code: 'STATE.CONFLICT', internal: 'it has ended' }
  expect(refusedBy('STATE.CONFLICT', { internal: 'it has ended' })).toMatchObject({
    level: 'info',
    status: 409,
    ...why,
  })
  const cause = new Error('the disk')
  expect(refusedBy('SYSTEM.INTERNAL_ERROR', { cause })).toMatchObject({ level: 'error', err: { message: 'the disk' } })
})

test.each([
  ['SYSTEM.NOT_IMPLEMENTED', {}],
  ['SYSTEM.INTERNAL_ERROR', { documented: true }],
] as const)('%s, where it is no fault of ours, is no error: %j', (code, detail) => {
  expect(refusedBy(code, detail)).toMatchObject({ level: 'info', code })
})
