import { describe, expect, test } from 'vitest'
import { createExplain } from '../../src/gateway/explain.ts'
import { instantOf, Refusal } from '../../src/kernel/index.ts'

const explaining = (entries: number) => {
  let now = 1_000
  const explain = createExplain({ now: () => instantOf(now) }, ['edge', 'serve'], { entries, ttlMs: 600 })
  const record = (requestId: string, refusal: Refusal | null = null) =>
    explain.record({ requestId, call: null, refusal, status: refusal?.status ?? 200, ms: 1 })
  return {
    ...explain,
    record,
    pass: (ms: number) => {
      now += ms
    },
  }
}

describe('a decision is kept for a bounded time, and so many of them', () => {
  test('until its time is up, and no longer', () => {
    const { record, explain, pass, close } = explaining(10)
    record('one')
    pass(599)
    expect(explain('one')).toHaveLength(1)
    pass(1)
    expect(explain('one')).toEqual([])
    close()
  })

  test('the oldest makes room for the newest', () => {
    const { record, explain, close } = explaining(2)
    for (const id of ['one', 'two', 'three']) record(id)
    expect(explain('one')).toEqual([])
    expect([explain('two'), explain('three')].map((found) => found.length)).toEqual([1, 1])
    close()
  })

  test('a request that met no operation was refused by the router, with the reason that no client is told', () => {
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

  test('none where none shall be kept', () => {
    const { record, explain, close } = explaining(0)
    record('one')
    expect(explain('one')).toEqual([])
    close()
  })
})
