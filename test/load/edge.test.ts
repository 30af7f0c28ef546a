import { describe, expect, test } from 'vitest'
import { EdgeWatch } from '../../src/load/edge.ts'

async function checkOf(sent: Record<string, string>, received: Record<string, string>) {
  const edge = new EdgeWatch(async () => new Response(null, { headers: received }))
  await edge.fetch('http://portal.example.com', { headers: sent })
  return edge.check()
}

describe('the watch of an edge', () => {
  const ids = { 'X-Request-Id': 'one', 'Idempotency-Key': '"one"' }

  test.each([
    ['the same ids', ids, ids],
    ['the same key without quotes', ids, { ...ids, 'Idempotency-Key': 'one' }],
    ['a read without a key', { 'X-Request-Id': 'one' }, { 'X-Request-Id': 'one' }],
  ])('%s: no finding', async (_, sent, received) => {
    expect(await checkOf(sent, received)).toMatchObject({ checked: '1 responses', violations: 0 })
  })

  test('a response that is not from the gateway is not counted', async () => {
    expect(await checkOf(ids, {})).toMatchObject({ checked: '0 responses', violations: 0 })
  })

  test('another id and no key: two findings, with the guide', async () => {
    const guide = '(see docs/guides/tls-and-edges.md#keep-x-request-id)'
    expect((await checkOf(ids, { 'X-Request-Id': 'two' })).findings).toEqual([
      `a proxy in front of the gateway replaces X-Request-Id ${guide}: 1 responses`,
      `a proxy in front of the gateway drops Idempotency-Key ${guide}: 1 responses`,
    ])
  })
})
