import { expect, test } from 'vitest'
import * as z from 'zod'
import { ReplyComparison } from '../../../src/backends/trial/compare.ts'
import { DifferenceLog } from '../../../src/backends/trial/difference-log.ts'
import { testClock } from '../../identity/clock.ts'

const Item = z.object({ name: z.string(), size: z.int().nullable() })
const schema = z.object({
  items: z.array(Item),
  byId: z.record(z.string(), Item),
  owner: z.union([z.object({ email: z.string() }), z.object({ phone: z.string() })]).optional(),
})
const main = {
  items: [{ name: 'a', size: 1 }],
  byId: { '01990000-0000-7000-8000-000000000001': { name: 'b', size: 2 } },
}

function find(data: unknown, ignored: string[] = [], from: unknown = main): string[] {
  const found = new ReplyComparison(schema, ignored).compare(JSON.stringify(from), data)
  return found.map(({ kind, path }) => `${kind} ${path}`)
}

test.each<[string, unknown, string[]]>([
  ['equal', main, []],
  ['another order of keys', { byId: main.byId, items: [{ size: 1, name: 'a' }] }, []],
  ['an undeclared key', { ...main, secret: 1 }, []],
  ['a value in a list', { ...main, items: [{ name: 'x', size: 1 }] }, ['value items.name']],
  ['null', { ...main, items: [{ name: 'a', size: null }] }, ['type items.size']],
  [
    'a value below an id',
    { ...main, byId: { '01990000-0000-7000-8000-000000000001': { name: 'x', size: 2 } } },
    ['value byId.*.name'],
  ],
  ['another id', { ...main, byId: { other: { name: 'b', size: 2 } } }, ['missing byId.*', 'added byId.*']],
  ['an optional object', { ...main, owner: { phone: '1' } }, ['added owner']],
  ['a violation below an id', { ...main, byId: { planted: { name: 1, size: 2 } } }, ['schema byId.*.name']],
  ['another type', [], ['schema $']],
  ['null for a reply', null, ['schema $']],
])('%s', (_name, data, found) => {
  expect(find(data)).toEqual(found)
})

test('an ignored field includes those below it, and no other one with the same beginning', () => {
  const changed = { ...main, items: [{ name: 'x', size: 9 }] }
  expect(find(changed, ['items'])).toEqual([])
  expect(find(changed, ['items.name'])).toEqual(['value items.size'])
  expect(find(changed, ['item'])).toEqual(['value items.name', 'value items.size'])
  expect(find({ ...main, byId: {} }, ['byId.*'])).toEqual([])
})

test('a list with 10,000 differences is one difference', () => {
  const items = (name: string) => Array.from({ length: 10_000 }, () => ({ name, size: 1 }))
  expect(find({ ...main, items: items('x') }, [], { ...main, items: items('a') })).toEqual(['value items.name'])
})

test('the log holds 100 differences, counts repeated ones, and forgets the one that was seen longest ago', () => {
  const clock = testClock()
  const log = new DifferenceLog(clock)
  for (let index = 0; index < 100; index++) log.add('parcels.read', { kind: 'value', path: `field${index}` })
  const first = clock.now()
  clock.advance(1_000)
  log.add('parcels.read', { kind: 'value', path: 'field0' })
  log.add('parcels.read', { kind: 'value', path: 'new' })
  const paths = log.list().map(({ path }) => path)
  expect(paths).toHaveLength(100)
  expect(paths.slice(0, 2)).toEqual(['new', 'field0'])
  expect(paths).not.toContain('field1')
  expect(log.list()[1]).toMatchObject({ count: 2, firstAt: first, lastAt: clock.now() })
})
