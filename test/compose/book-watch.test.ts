import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchBook } from '../../src/compose/book-watch.ts'
import { toInstant } from '../../src/kernel/index.ts'
import type { Ledger } from '../../src/ledger/index.ts'

const logger = pino({ level: 'silent' })
const metrics = { checked: () => undefined }
const watch = (readCheck: Ledger['readCheck']) => watchBook({ ledger: { readCheck }, logger, metrics })
const broken = { rule: 'entries follow one another', subject: 'x', violations: 1 }

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('a replica is not ready while the last check has found the book broken, and is again once one has not', async () => {
  let found: Awaited<ReturnType<Ledger['readCheck']>> = { at: toInstant(0), broken }
  const book = watch(async () => found)
  await vi.advanceTimersByTimeAsync(0)
  await expect(book.check()).rejects.toThrow(broken.rule)
  found = { at: toInstant(1), broken: null }
  await vi.advanceTimersByTimeAsync(1_000)
  await expect(book.check()).resolves.toBeUndefined()
  await book.close()
})

test('a store that does not answer is asked once at a time, however long it takes', async () => {
  const answer = Promise.withResolvers<undefined>()
  const readCheck = vi.fn(() => answer.promise)
  const book = watch(readCheck)
  await vi.advanceTimersByTimeAsync(60_000)
  answer.resolve(undefined)
  await book.close()
  expect(readCheck).toHaveBeenCalledTimes(1)
})
