import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { dotString, irregularDotString } from '../../src/contract/account-fields.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { readDocument } from '../../src/documents/index.ts'
import { toZod } from '../../src/documents/json-schema.ts'
import { toParameterZod } from '../../src/documents/read.ts'
import { isLinearPattern, patternsOf, slowPatternErrors } from '../../src/documents/slow-patterns.ts'

const slow = '^(\\w+\\s?)*$'

const lookarounds = ['^(?=.*\\d).{8,64}$', '(?<=!(?:a|a)*)b', '(?=\\w*!)a', '^(?:.(?!.*!))*$', '\\\\(?!a)b', '^(a)\\1$']

test.each([
  slow,
  '^(a+)+$',
  '^([a-b]*)([a-c]*)$',
  '(a|b|ab)*c',
  '[a-z]+x',
  '^(?=(a+)+$)',
  'a{0,5000}b',
  ...lookarounds,
])('isLinearPattern false: %s', (pattern) => expect(isLinearPattern(new RegExp(pattern))).toBe(false))

test.each([
  ...['^\\d{4}$', '^[a-z0-9]+(?:-[a-z0-9]+)*$', '^.{1,200}$', 'foo', '^\\(?=a$', '^[(?=]$', '^[\\](?!]$'],
  ...['^https?://[\\w.-]+(/[\\w./-]*)?$', '^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,3})?$'],
])('isLinearPattern true: %s', (pattern) => expect(isLinearPattern(new RegExp(pattern))).toBe(true))

test('every pattern of the catalogue is linear', () => {
  const found = bankingCatalogue.operations.flatMap(({ id, query, body, reply, params = {} }) =>
    [query, body, reply, ...Object.values(params)].flatMap((schema) =>
      schema instanceof z.ZodType ? patternsOf(schema, id) : [],
    ),
  )
  expect(found.length).toBeGreaterThan(50)
  expect(found.filter(({ pattern }) => !isLinearPattern(pattern))).toEqual([])
})

const text = { type: 'string', pattern: slow }
const nested: [string, object, string][] = [
  ['a property', { type: 'object', properties: { name: text } }, 'properties.name.pattern'],
  ['an item', { type: 'array', items: text }, 'items.pattern'],
  ['an alternative', { anyOf: [{ type: 'number' }, text] }, 'anyOf.pattern'],
  ['a part', { allOf: [{ type: 'string' }, text] }, 'allOf.pattern'],
  ['a name', { type: 'object', propertyNames: { pattern: slow } }, 'propertyNames.pattern'],
  ['the names of properties', { type: 'object', patternProperties: { [slow]: {} } }, 'patternProperties'],
  ['other members', { type: 'object', additionalProperties: text }, 'additionalProperties.pattern'],
  ['an exclusion', { type: 'string', not: { pattern: slow } }, 'not.pattern'],
]

test.each(nested)('toZod rejects a slow pattern of %s, and names its place', (_name, schema, place) => {
  for (const io of ['input', 'output'] as const)
    expect(() => toZod(schema, io)).toThrow(`${place}: the pattern ${slow}`)
  expect(() => toParameterZod(schema, 'query')).toThrow(place)
})

test.each(['default', 'enum', 'const', 'example', 'examples', 'not', 'required', 'properties'])(
  'toZod: a property named %s is a property',
  (name) => {
    const schemaOf = (type: object) => ({ type: 'object', properties: { [name]: type }, required: [name] })
    const schema = toZod(schemaOf({ type: 'string' }), 'input')
    expect(schema.safeParse({ [name]: 'a' }).success).toBe(true)
    expect(schema.safeParse({ [name]: 1 }).success).toBe(false)
    expect(schema.safeParse({}).success).toBe(false)
    expect(() => toZod(schemaOf(text), 'input')).toThrow(`properties.${name}.pattern: the pattern ${slow}`)
  },
)

test('toZod: a pattern in an example or an enum is data', () => {
  expect(toZod({ type: 'string', enum: [slow], examples: [{ pattern: slow }] }, 'input').safeParse(slow).success).toBe(
    true,
  )
})

test('toZod: a text above its maximum length is rejected before its pattern runs', () => {
  const codesOf = (schema: object, value: unknown) =>
    toZod(schema, 'input')
      .safeParse(value)
      .error?.issues.map(({ code }) => code)
  const short = { type: 'string', maxLength: 5, pattern: '^a+$' }
  expect(codesOf(short, 'bbbbbb')).toEqual(['too_big'])
  expect(codesOf(short, 'bbbbb')).toEqual(['invalid_format'])
  expect(codesOf({ type: 'object', properties: { a: short } }, { a: 'bbbbbb' })).toEqual(['too_big'])
  expect(codesOf({ type: 'array', items: { anyOf: [short, { type: 'number' }] } }, ['aaaaa'])).toBeUndefined()
})

test.each([
  [
    'wide',
    { type: 'object', properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, {}])) },
  ],
  ['deep', Array.from({ length: 70 }).reduce((items) => ({ type: 'array', items }), { type: 'string' })],
])('toZod rejects a schema that is too %s', (_name, schema) => {
  expect(() => toZod(schema, 'input')).toThrow(/more than/)
})

test('slowPatternErrors: names the field in each kind of zod schema', () => {
  const bad = z.string().regex(/^(a+)+$/)
  const lazy: z.ZodType = z.lazy(() => z.object({ next: lazy.optional(), value: bad }))
  const fields = (schema: z.ZodType) => slowPatternErrors(schema, 'body').map((error) => error.split(': ')[0])
  for (const schema of [
    z.strictObject({ a: z.array(bad.optional()) }),
    z.strictObject({ a: bad.transform((value) => value).pipe(z.string()) }),
    z.strictObject({ a: z.union([z.null(), z.tuple([bad])]) }),
    z.strictObject({ a: z.record(bad, z.string()) }),
    z.strictObject({ a: z.email({ pattern: /^(a+)+$/ }) }),
    z.strictObject({ a: z.templateLiteral(['x', bad]) }),
    z.strictObject({ a: z.intersection(bad, z.string()) }),
    z.strictObject({ a: z.map(z.string(), z.set(bad)) }),
    z.strictObject({ a: z.discriminatedUnion('k', [z.object({ k: z.literal(1), v: bad })]) }),
    z.strictObject({ a: lazy }),
  ])
    expect(fields(schema)[0]).toMatch(/^body\.a/)
  expect(fields(z.strictObject({ a: z.ipv4(), b: z.iso.datetime(), c: z.email(), d: z.uuid() }))).toEqual([])
})

/** Some formats are beyond the check. A backtracking one would take seconds. */
const formats = [
  ...Object.values(z.regexes).flatMap((pattern: unknown) => (pattern instanceof RegExp ? [pattern] : [])),
  ...[{}, { offset: true }, { local: true }].map((options) => z.regexes.datetime(options)),
  dotString,
  irregularDotString,
]

test.each(formats)('the built-in format %s matches 20,000 characters in linear time', (pattern) => {
  const units = ['a', '1', '.', '-', ':', 'a.', '1.', 'a-', '1:', ' 1', 'aA1', 'P1', '@', 'a@', '"']
  const { user } = process.cpuUsage()
  for (const unit of units)
    for (const end of ['', '!', '@', '\n']) pattern.test(unit.repeat(20_000 / unit.length) + end)
  expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(2_000)
})

const folder = mkdtempSync(join(tmpdir(), 'portico-patterns-'))
afterAll(() => rmSync(folder, { recursive: true }))

function documentOf(schema: object, components: object = {}) {
  const policy = {
    ...{ caller: 'anonymous', workspace: 'none', permission: null, stepUp: false, channel: 'none', rate: 'general' },
    ...{ idempotent: false, changesRights: false },
  }
  const marks = { id: 'meters.set', name: 'setMeter', chains: ['consumer'], policy, refuses: [] }
  const content = { 'application/json': { schema } }
  return {
    openapi: '3.1.0',
    'x-portico': { domains: { meters: 'Meters.' } },
    components: { schemas: components },
    paths: {
      '/meters': {
        post: {
          summary: 'Set a meter',
          'x-portico': marks,
          requestBody: { required: true, content },
          responses: { 200: { description: 'Done.', content: { 'application/json': { schema: { type: 'null' } } } } },
        },
      },
    },
  }
}
function errorsOf(document: object): string[] {
  const file = join(folder, 'document.yaml')
  writeFileSync(file, dump(document))
  const read = readDocument(file)
  return 'errors' in read ? read.errors : []
}

test('readDocument names the operation and the field of a slow pattern, also behind a reference', () => {
  const schema = { type: 'object', properties: { name: { $ref: '#/components/schemas/Name' } } }
  const message = `POST /meters: requestBody: properties.name.pattern: the pattern ${slow} can take super-linear time`
  expect(errorsOf(documentOf(schema, { Name: text }))).toEqual([expect.stringContaining(message)])
})

test('readDocument rejects references that double 40 times, without following them', () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => {
      const next = { $ref: `#/components/schemas/S${at + 1}` }
      return [`S${at}`, at === 39 ? { type: 'string' } : { type: 'object', properties: { a: next, b: next } }]
    }),
  )
  const message = 'POST /meters: requestBody: has more than 20000 parts, with its references replaced'
  expect(errorsOf(documentOf({ $ref: '#/components/schemas/S0' }, schemas))).toEqual([message])
})
