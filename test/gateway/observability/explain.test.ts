import { describe, expect, test } from 'vitest'
import { listTransfers } from '../../../src/banking/transfers/contract.ts'
import { statusOf } from '../../../src/contract/index.ts'
import { toRefusal } from '../../../src/gateway/http/error-handler.ts'
import { createExplainLog } from '../../../src/gateway/observability/explain.ts'
import { Refusal, toInstant } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { arrivedCall } from '../../harness/call.ts'

function explaining(entries: number) {
  let now = 1_000
  const explain = createExplainLog({ now: () => toInstant(now) }, ['edge', 'serve'], { entries, ttlMs: 600 }, false)
  const record = (requestId: string, refusal: Refusal | null = null) =>
    explain.record({ requestId, call: null, refusal, status: refusal ? statusOf(refusal.code) : 200, ms: 1 })
  return {
    ...explain,
    record,
    pass: (ms: number) => {
      now += ms
    },
  }
}

describe('an explain log is limited in time and size', () => {
  test('an entry expires after its TTL', () => {
    const { record, explain, pass, close } = explaining(10)
    record('one')
    pass(599)
    expect(explain('one')).toHaveLength(1)
    pass(1)
    expect(explain('one')).toEqual([])
    close()
  })

  test('the newest entry replaces the oldest', () => {
    const { record, explain, close } = explaining(2)
    for (const id of ['one', 'two', 'three']) record(id)
    expect(explain('one')).toEqual([])
    expect([explain('two'), explain('three')].map((found) => found.length)).toEqual([1, 1])
    close()
  })

  test('an unmatched request is explained as refused by the route, with its internal reason', () => {
    const { record, explain, close } = explaining(2)
    record('one', new Refusal('ROUTE.NOT_FOUND', { internal: 'nothing there' }))
    expect(explain('one')[0]).toMatchObject({ status: 404, code: 'ROUTE.NOT_FOUND', internal: 'nothing there' })
    expect(explain('one')[0]?.stages.map(({ verdict }) => verdict)).toEqual([
      'refused',
      'not reached',
      'not reached',
      'not reached',
    ])
    close()
  })

  test('zero entries store nothing', () => {
    const { record, explain, close } = explaining(0)
    record('one')
    expect(explain('one')).toEqual([])
    close()
  })
})

test('an explanation has the caller, the operation and the duration of each asynchronous stage', () => {
  const [account, workspace] = [systemIds.next<'account'>(), systemIds.next<'workspace'>()]
  const names = ['edge', 'authenticate', 'body', 'serve']
  const { record, explain, close } = createExplainLog(
    { now: () => toInstant(0) },
    names,
    { entries: 2, ttlMs: 600 },
    false,
  )
  const call = arrivedCall(listTransfers)
  const caller = { accountId: account, portal: 'CONSUMER', sessionId: null, apiKeyId: null, steppedUpAt: null }
  Object.assign(call, {
    caller: { ...caller, permissions: new Set() },
    workspace: { id: workspace, isOwner: true, permissions: new Set() },
    trace: { traceId: 'a trace' },
    stageIndex: names.length,
  })
  const ended = performance.now()
  call.stageEnds[1] = ended + 1_000
  call.stageEnds[3] = ended + 1_500
  record({ requestId: 'one', call, refusal: null, status: 200, ms: 1 })
  const [explanation] = explain('one')
  expect(explanation).toMatchObject({
    operation: 'transfers.list',
    chain: 'consumer',
    account,
    workspace,
    traceId: 'a trace',
  })
  const times = explanation?.stages.map(({ stage, ms }) => [stage, ms !== undefined])
  expect(times?.filter(([, isTimed]) => isTimed).map(([stage]) => stage)).toEqual(['authenticate', 'serve'])
  expect(explanation?.stages.find(({ stage }) => stage === 'serve')?.ms).toBe(500)
  close()
})

test.each([
  ['in development', true, 'no such column: colour'],
  ['in production', false, 'unexpected error'],
])('the message of a thrown error %s', (_name, includesErrors, expected) => {
  const { record, explain, close } = createExplainLog(
    { now: () => toInstant(0) },
    ['edge'],
    { entries: 2, ttlMs: 600 },
    includesErrors,
  )
  const refusal = toRefusal(new Error('no such column: colour'), () => false)
  record({ requestId: 'one', call: null, refusal, status: 500, ms: 1 })
  expect(explain('one')[0]?.internal).toBe(expected)
  close()
})
