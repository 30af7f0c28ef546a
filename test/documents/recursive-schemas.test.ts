import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { Evaluation } from '../../src/documents/evaluation.ts'
import { inlineReferences, toZod } from '../../src/documents/json-schema.ts'

const node = { $ref: '#/components/schemas/Node' }
function zodOf(Node: object, io: 'input' | 'output') {
  return toZod(inlineReferences({ components: { schemas: { Node } } }, node), io)
}

function nestedWith(depth: number, more: object, wrap: (value: object, level: number) => object) {
  let value: object = more
  for (let level = 1; level < depth; level++) value = { ...wrap(value, level), ...more }
  return value
}

const text = { type: 'string' }
const replies = { reply: node, replies: { type: 'array', items: node } }
const either = {
  anyOf: [
    { type: 'object', properties: { ...replies, label: text } },
    { type: 'object', properties: { ...replies, weight: { type: 'number' } } },
  ],
}
const both = {
  allOf: [
    { type: 'object', properties: { reply: node } },
    { type: 'object', properties: { reply: node, weight: { type: 'number' } } },
  ],
}
const patterns = { type: 'object', patternProperties: { '^r': node, '^re': node, '^w': { type: 'number' } } }

describe.each([
  ['anyOf', either],
  ['oneOf', { oneOf: either.anyOf.map((each, index) => ({ ...each, required: [index === 0 ? 'label' : 'weight'] })) }],
  ['allOf', both],
  ['patternProperties', patterns],
])('a recursive schema with %s', (_name, schema) => {
  test.each(['input', 'output'] as const)(
    'takes linear time: %s of 60 levels',
    (io) => {
      const value = nestedWith(60, { weight: 1 }, (reply) => ({ reply }))
      const started = performance.now()
      expect(zodOf(schema, io).parse(value)).toEqual(value)
      expect(performance.now() - started).toBeLessThan(2_000)
    },
    20_000,
  )

  test.each(['input', 'output'] as const)('rejects an invalid value at the deepest level: %s', (io) => {
    const value = nestedWith(12, { weight: 1 }, (reply) => ({ reply }))
    const wrong = JSON.parse(JSON.stringify(value).replace('{"weight":1}', '5'))
    expect(zodOf(schema, io).safeParse(wrong).success).toBe(false)
  })

  test('loses the undeclared fields of every level', () => {
    const value = nestedWith(12, { weight: 1 }, (reply) => ({ reply }))
    const secret = nestedWith(12, { weight: 1, secret: 1 }, (reply) => ({ reply }))
    expect(zodOf(schema, 'output').parse(secret)).toEqual(value)
    expect(zodOf(schema, 'input').safeParse(secret).success).toBe(false)
  })
})

const names = ['a', 'b', 'list']
const field = fc.constantFrom<object>(node, { type: 'array', items: node }, { anyOf: [node, { type: 'null' }] }, {})
const object = fc.record(
  {
    properties: fc.dictionary(fc.constantFrom(...names), field, { maxKeys: 3 }),
    patternProperties: fc.dictionary(fc.constantFrom('^a', '[ab]', 'l'), field, { maxKeys: 2 }),
    additionalProperties: fc.constantFrom<object | boolean>(node, true),
  },
  { requiredKeys: [] },
)
const combined = fc.record(
  {
    anyOf: fc.array(object, { minLength: 1, maxLength: 3 }),
    oneOf: fc.array(object, { minLength: 1, maxLength: 2 }),
    allOf: fc.array(object, { minLength: 1, maxLength: 3 }),
    not: fc.constantFrom<object>({ type: 'number' }, { properties: { a: node }, required: ['z'] }),
  },
  { requiredKeys: [] },
)
const schemas = fc.tuple(object, combined).map(([one, other]) => ({ ...one, ...other }))

/** Counts the calls that evaluate one schema and one value. */
function stepsFor(schema: object, io: 'input' | 'output', depth: number): number {
  const spies = [vi.spyOn(Evaluation.prototype, 'evaluate'), vi.spyOn(Evaluation.prototype, 'pick')]
  const value = nestedWith(depth, { b: null }, (below, level) =>
    level % 3 === 0 ? { list: [below, {}] } : { a: below },
  )
  zodOf(schema, io).safeParse(value)
  const steps = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
  for (const spy of spies) spy.mockRestore()
  return steps
}

test('every random recursive schema takes steps that grow linearly with the depth of the value', () => {
  const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  fc.assert(
    fc.property(schemas, fc.constantFrom('input', 'output'), (schema, io) => {
      // Their outermost levels are alike.
      const [short = 0, middle = 0, long = 0] = [10, 19, 37].map((depth) => stepsFor(schema, io, depth))
      expect(long).toBeLessThanOrEqual(middle + 2 * (middle - short) + 20)
    }),
    { seed, numRuns: 300 },
  )
})

test.each([
  ['allOf', { allOf: [node] }],
  ['anyOf', { anyOf: [{ type: 'null' }, node] }],
  ['not', { not: node }],
])('toZod rejects a schema that refers to itself in %s, and not for a field', (_name, schema) => {
  expect(() => zodOf(schema, 'input')).toThrow('a schema refers to itself')
})

test('toZod checks the keywords next to a recursive reference', () => {
  const schema = { type: 'object', properties: { next: { ...node, required: ['id'] }, id: text } }
  for (const io of ['input', 'output'] as const) {
    expect(zodOf(schema, io).safeParse({ next: { id: 'a' } }).success).toBe(true)
    expect(zodOf(schema, io).safeParse({ next: {} }).success).toBe(false)
  }
})
