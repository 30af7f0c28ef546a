import { expect, it } from 'vitest'
import { z } from 'zod'
import { bankingCatalogue, catalogue } from '../../src/contract/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'
import { toJsonSchema } from '../../src/openapi/schemas.ts'

interface Field {
  name: string
  schema: z.ZodType
}

function isText(schema: z.ZodType): boolean {
  return (
    toJsonSchema(bankingCatalogue, schema, 'input').type === 'string' &&
    toJsonSchema(bankingCatalogue, schema, 'output').type === 'string'
  )
}

/** Includes lists and nested objects. */
function textsIn(name: string, schema: unknown): Field[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return textsIn(name, schema.unwrap())
  if (schema instanceof z.ZodArray) return textsIn(`${name}[]`, schema.element)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => textsIn(name, option))
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([field, inner]) => textsIn(`${name}.${field}`, inner))
  return schema instanceof z.ZodType && isText(schema) ? [{ name, schema }] : []
}

const texts = catalogue.flatMap(({ id, query, body }) => [
  ...textsIn(`${id} query`, query),
  ...textsIn(`${id} body`, body),
])

function patternsOf({ pattern, allOf }: JsonObject): Json[] {
  return [
    ...(pattern === undefined ? [] : [pattern]),
    ...(Array.isArray(allOf) ? allOf.flatMap((each) => (isJsonObject(each) ? patternsOf(each) : [])) : []),
  ]
}

/** None of the probes has one of the formats. */
function allows(schema: JsonObject, text: string): boolean {
  return (
    schema.format === undefined &&
    text.length >= Number(schema.minLength ?? 0) &&
    text.length <= Number(schema.maxLength ?? text.length) &&
    (schema.const ?? text) === text &&
    (!Array.isArray(schema.enum) || schema.enum.includes(text)) &&
    !(isJsonObject(schema.not) && allows(schema.not, text)) &&
    patternsOf(schema).every((pattern) => new RegExp(String(pattern), 'u').test(text))
  )
}

const probes = ['', ' ', '\t\n', '\u3000\ufeff', '0', '0.0', '007', '-1', 'a', 'XX', 'XXX', 'Mars/Base', 'a'.repeat(40)]

it("a text that the document's schema allows is refused only if a description gives a stricter rule", () => {
  expect(texts.length).toBeGreaterThan(100)
  const undocumented = texts.flatMap(({ name, schema }) => {
    const json = toJsonSchema(bankingCatalogue, schema, 'input')
    if (typeof json.description === 'string') return []
    const refused = probes.filter((probe) => allows(json, probe) && !schema.safeParse(probe).success)
    return refused.map((probe) => `${name}: ${JSON.stringify(probe)}`)
  })
  expect(undocumented).toEqual([])
})
