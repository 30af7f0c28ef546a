import { expect, test } from 'vitest'
import { createExplainLog } from '../../../src/gateway/index.ts'
import { toMinuteViews } from '../../../src/gateway/observations/overview.ts'
import {
  mergeSelections,
  parseCursor,
  selectRequests,
  toExplanationViews,
  toRequestView,
} from '../../../src/gateway/observations/requests.ts'
import { Refusal, toInstant } from '../../../src/kernel/index.ts'

const everything = { before: null, limit: 200 }

/** A replica with requests that arrived at these times. `name` begins the ids. */
function replicaOf(name: string, start: number, times: readonly number[], idOf = (at: number) => `${name}-${at}`) {
  let now = start
  const log = createExplainLog({ now: () => toInstant(now) }, [], { entries: 1_000, ttlMs: 1e9 }, false)
  for (const at of times) {
    now = at
    log.record({ requestId: idOf(at), call: null, refusal: null, status: 200, ms: 1 })
  }
  log.close()
  return { name, log }
}

function readPage(replicas: readonly ReturnType<typeof replicaOf>[], before: string, pageSize: number) {
  const filter = { before: parseCursor(before), limit: pageSize }
  const answers = replicas.map(({ name, log }) => ({ replica: name, result: selectRequests(log, filter) }))
  return mergeSelections(answers, pageSize)
}

function readAll(replicas: readonly ReturnType<typeof replicaOf>[], pageSize: number): string[] {
  const ids: string[] = []
  for (let before: string | null | undefined = 'start'; before; ) {
    const page = readPage(replicas, before, pageSize)
    expect(page.items.length).toBeLessThanOrEqual(pageSize)
    ids.push(...page.items.map(({ requestId }) => requestId))
    before = page.nextCursor
  }
  return ids
}

test.each([1, 2, 3, 100])('pages of %d contain each request of every replica once, newest first', (pageSize) => {
  const replicas = [
    replicaOf('a', 1, [10, 20, 20, 20, 50]),
    replicaOf('b', 2, [20, 30, 40, 60, 70]),
    replicaOf('c', 3, []),
  ]
  const sorted = [...['b-70', 'b-60', 'a-50', 'b-40', 'b-30'], ...['a-20', 'a-20', 'a-20', 'b-20'], 'a-10']
  const read = readAll(replicas, pageSize)
  expect(read.toSorted()).toEqual(sorted.toSorted())
  expect(read.map((id) => Number(id.slice(2)))).toEqual(sorted.map((id) => Number(id.slice(2))))
})

test('a selection that would exceed a message is cut, and no request is lost between the replicas', () => {
  const times = Array.from({ length: 200 }, (_, index) => 1_000 + index * 2)
  const long = replicaOf('a', 1, times, (at) => `a-${at}-${'x'.repeat(3_000)}`)
  const short = replicaOf(
    'b',
    2,
    times.map((at) => at + 1),
  )
  const { requests, isCut } = selectRequests(long.log, everything)
  expect(isCut).toBe(true)
  expect(JSON.stringify(requests).length).toBeLessThan(262_144)
  const read = readAll([long, short], 200).map((id) => Number(id.split('-')[1]))
  expect(read).toHaveLength(400)
  expect(read).toEqual(read.toSorted((one, other) => other - one))
})

test('the answer of another version is ignored', () => {
  const { log } = replicaOf('a', 1, [10])
  const answers = [null, { requests: [{ at: 'x' }] }, selectRequests(log, everything)]
  const page = mergeSelections(
    answers.map((result) => ({ replica: 'r', result })),
    10,
  )
  expect(page.items.map(({ requestId }) => requestId)).toEqual(['a-10'])
  expect(page.nextCursor).toBeNull()
})

test.each([1e300, -1, 8.65e15])('an answer with the impossible time %d is ignored', (at) => {
  const { log } = replicaOf('a', 1, [10])
  const own = selectRequests(log, everything)
  const forged = { ...own, requests: own.requests.map((request) => ({ ...request, at })) }
  const page = mergeSelections(
    [own, forged].map((result) => ({ replica: 'r', result })),
    10,
  )
  expect(page.items.map((request) => toRequestView(request).at)).toEqual(['1970-01-01T00:00:00.010Z'])
})

test('explanations without a valid time are ignored', () => {
  const { log } = replicaOf('a', 1, [10])
  const own = log.explain('a-10')
  const forged = own.map((each) => ({ ...each, at: 'soon' }))
  expect(toExplanationViews([own, forged].map((result) => ({ replica: 'r', result })))).toHaveLength(1)
})

test.each([-1, 150, 1e12])('minutes with the impossible bucket %d are ignored', (bucket) => {
  const minute = { minute: 0, requests: 1, failed: 0, refused: 0, abandoned: 0, durations: [[bucket, 1]] }
  const last = toMinuteViews([{ replica: 'r', result: [minute] }], toInstant(1)).at(-1)
  expect(last).toMatchObject({ requests: 0, p99Ms: null })
})

test('a selection contains no internal reason', () => {
  const log = createExplainLog({ now: () => toInstant(1) }, [], { entries: 5, ttlMs: 1e9 }, true)
  const refusal = new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'planted', cause: new Error('planted') })
  log.record({ requestId: 'one', call: null, refusal, status: 500, ms: 1 })
  log.close()
  const { requests } = selectRequests(log, { ...everything, outcome: 'failed' })
  expect(requests).toMatchObject([{ code: 'SYSTEM.INTERNAL_ERROR' }])
  expect(JSON.stringify(requests)).not.toContain('planted')
})

test('VALIDATION.INVALID_PARAMETER for the cursor of another list', () => {
  expect(() => parseCursor('1700000000000000_01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10')).toThrow(
    expect.objectContaining({ code: 'VALIDATION.INVALID_PARAMETER' }),
  )
})
