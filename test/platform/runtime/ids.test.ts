import { validate, version } from 'uuid'
import { expect, test } from 'vitest'
import { systemIds } from '../../../src/platform/runtime/index.ts'

const many = 200_000

test('ids are UUIDv7 of this moment, and each is later than the one before', () => {
  const begun = Date.now()
  const made = Array.from({ length: many }, () => systemIds.next<'order'>())
  const ended = Date.now()
  for (const [index, id] of made.entries()) {
    if (index > 0 && id <= (made[index - 1] ?? '')) throw new Error(`${made[index - 1]} and then ${id}`)
  }
  for (const id of [made[0] ?? '', made.at(-1) ?? '']) {
    const at = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
    expect([validate(id), version(id)]).toEqual([true, 7])
    expect(at).toBeGreaterThanOrEqual(begun)
    expect(at).toBeLessThanOrEqual(ended + 1)
  }
})

test('the random part of an id differs each time', () => {
  const tails = new Set(Array.from({ length: many }, () => systemIds.next<'order'>().slice(-10)))
  // 40 bits: among so many, some twenty may be alike by chance.
  expect(tails.size).toBeGreaterThan(many - 200)
})
