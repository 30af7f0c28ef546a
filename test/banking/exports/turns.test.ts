import { expect, test } from 'vitest'
import { takeTurns } from '../../../src/banking/exports/source.ts'

async function* numbers(count: number): AsyncGenerator<number> {
  for (let n = 1; n <= count; n++) yield n
}

test('takeTurns: yields every row in order, and other work runs after every 50 rows', async () => {
  let turns = 0
  let isDone = false
  const countTurn = (): void => {
    turns += 1
    if (!isDone) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const seen: number[] = []
  const turnsAt: number[] = []
  for await (const n of takeTurns(numbers(220))) {
    seen.push(n)
    if (n % 50 === 1) turnsAt.push(turns)
  }
  isDone = true
  expect(seen).toEqual(Array.from({ length: 220 }, (_, index) => index + 1))
  expect(turnsAt).toHaveLength(5)
  for (const [index, at] of turnsAt.entries()) expect(at).toBeGreaterThanOrEqual(index)
})
