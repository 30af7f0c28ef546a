import { expect, test } from 'vitest'
import {
  areWithin,
  days,
  hours,
  isBizId,
  minutes,
  parseInstant,
  parseInterval,
  toInstant,
  wholeMinutes,
  wholeSeconds,
} from '../../src/kernel/index.ts'

const id = '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'

test.each([
  [id, true],
  [id.toUpperCase(), false],
  [`x${id}`, false],
  [`${id}\n`, false],
  [id.replace('-7e0a', '-0e0a'), false],
  [id.replace('-7e0a', '-9e0a'), false],
  [id.replace('-8f35', '-7f35'), false],
  [id.replaceAll('-', ''), false],
])('isBizId(%j): %s', (text, isId) => {
  expect(isBizId(text)).toBe(isId)
})

test.each([
  [0, 1, 1],
  [1, 1, 1],
  [1_000, 1, 1],
  [1_001, 2, 1],
  [119_999, 120, 1],
  [120_000, 120, 2],
])(
  '%i ms: wholeSeconds rounds up to %i s, wholeMinutes down to %i min, at least one',
  (milliseconds, seconds, inMinutes) => {
    expect([wholeSeconds(milliseconds), wholeMinutes(milliseconds)]).toEqual([seconds, inMinutes])
  },
)

test('minutes, hours and days in milliseconds', () => {
  expect([minutes(2), hours(2), days(2)]).toEqual([120_000, 7_200_000, 172_800_000])
})

test('areWithin: either order, both limits included', () => {
  const [one, other] = [toInstant(1_000), toInstant(1_500)]
  for (const [first, second] of [
    [one, other],
    [other, one],
  ] as const)
    expect([499, 500, 501].map((time) => areWithin(time, first, second))).toEqual([false, true, true])
})

test.each([
  ['0001-01-01T00:00:00.000Z', true],
  ['0000-12-31T23:59:59.999Z', false],
  ['9999-12-31T23:59:59.999Z', true],
  ['+010000-01-01T00:00:00.000Z', false],
  ['2026-02-30T00:00:00Z!', false],
  ['', false],
])('parseInstant(%j): within the years 1 to 9999: %s', (text, isValid) => {
  expect(parseInstant(text)).toBe(isValid ? Date.parse(text) : undefined)
})

test('parseInstant: undefined for a missing text', () => {
  expect(parseInstant(undefined)).toBeUndefined()
})

test.each([
  ['2026-01-31T12:00:00.123Z', 0],
  ['2026-01-31T12:00:00.123000000Z', 0],
  ['2026-01-31T12:00:00.1230000001Z', 1],
  ['2026-01-31T17:45:00.123999999+05:45', 1],
  ['2026-01-31T12:00:00.123456-00:00', 1],
  ['2026-01-31T12:00:00.1229999Z', 1],
  ['2026-01-31T12:00:00Z', 0],
])('parseInterval: the start %s is rounded up by %i ms; the end is not', (text, after) => {
  const { from, to } = parseInterval({ startTime: text, endTime: text })
  expect([from, to]).toEqual([Date.parse(text) + after, Date.parse(text)])
})

test('parseInterval: either end can be open; a start in the last millisecond of 9999 is not rounded up', () => {
  expect(parseInterval({})).toEqual({ from: undefined, to: undefined })
  const last = '9999-12-31T23:59:59.999Z'
  expect(parseInterval({ startTime: last.replace('Z', '9Z') })).toEqual({ from: Date.parse(last), to: undefined })
})
