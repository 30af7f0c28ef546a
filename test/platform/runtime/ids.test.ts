import { validate, version } from 'uuid'
import { expect, test } from 'vitest'
import { systemIds } from '../../../src/platform/runtime/index.ts'

const count = 200_000

test('systemIds: UUIDv7 of the current time, strictly increasing', () => {
  const startedAt = Date.now()
  const ids = Array.from({ length: count }, () => systemIds.next<'order'>())
  const endedAt = Date.now()
  for (const [index, id] of ids.entries()) {
    if (index > 0 && id <= (ids[index - 1] ?? '')) throw new Error(`${ids[index - 1]} precedes ${id}`)
  }
  for (const id of [ids[0] ?? '', ids.at(-1) ?? '']) {
    const at = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
    expect([validate(id), version(id)]).toEqual([true, 7])
    expect(at).toBeGreaterThanOrEqual(startedAt)
    expect(at).toBeLessThanOrEqual(endedAt + 1)
  }
})

test('systemIds: the random part differs in every id', () => {
  const tails = new Set(Array.from({ length: count }, () => systemIds.next<'order'>().slice(-10)))
  // With 40 bits, about twenty of 200,000 are equal by chance.
  expect(tails.size).toBeGreaterThan(count - 200)
})
