import { expect, test } from 'vitest'
import { liveLine, progressBar, withSpinner } from '../../src/cli/progress.ts'

function screenOf(isTTY: boolean) {
  const written: string[] = []
  return { written, screen: { isTTY, write: (text: string) => written.push(text) } }
}

test('progressBar: draws only changes, and ends the line when complete', () => {
  const { written, screen } = screenOf(true)
  const draw = progressBar(screen)
  for (let done = 0; done <= 3_000; done++) draw(done, 3_000)
  expect(written.length).toBeLessThan(40)
  expect(written[0]).toBe(`\r[${' '.repeat(30)}] 0/3000`)
  expect(written.at(-1)).toBe(`\r[${'#'.repeat(30)}] 3000/3000\n`)
})

test('withSpinner: moves, and clears its line when the work resolves or rejects', async () => {
  const { written, screen } = screenOf(true)
  const work = () => expect.poll(() => new Set(written).size).toBeGreaterThan(2)
  await withSpinner(screen, 'checking', work)
  expect(written.at(-1)).toBe('\r\u001b[K')
  await expect(withSpinner(screen, 'checking', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(written.at(-1)).toBe('\r\u001b[K')
})

test('progressBar and withSpinner: draw nothing if the output is not a terminal', async () => {
  const { written, screen } = screenOf(false)
  progressBar(screen)(1, 2)
  await withSpinner(screen, 'checking', async () => undefined)
  expect(written).toEqual([])
})

test('liveLine: replaces its line on a terminal; otherwise writes every fifth line and the last one', () => {
  const terminal = screenOf(true)
  const show = liveLine(terminal.screen)
  show('one', false)
  show('two', true)
  expect(terminal.written).toEqual(['\r\u001b[Kone', '\r\u001b[Ktwo\n'])
  const file = screenOf(false)
  const write = liveLine(file.screen)
  for (let second = 1; second <= 12; second++) write(`${second}`, second === 12)
  for (let second = 1; second <= 5; second++) write(`again ${second}`, false)
  expect(file.written).toEqual(['5\n', '10\n', '12\n', 'again 5\n'])
})
