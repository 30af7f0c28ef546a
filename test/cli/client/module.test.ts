import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { writeModule } from '../../../src/cli/client/module.ts'
import { root } from '../../harness/settings.ts'

const policy = {
  caller: 'account',
  workspace: 'required',
  permission: null,
  stepUp: false,
  channel: 'none',
  rate: 'general',
  idempotent: false,
  changesRights: false,
}

interface Part {
  id?: string
  name?: string
  reply?: unknown
  body?: unknown
  parameters?: unknown[]
  marks?: object
  responses?: object
}

/** A document with an operation per part. */
function documentOf(parts: Record<string, Part>, schemas: object = {}) {
  const paths = Object.entries(parts).map(([key, part]) => {
    const {
      id = `tests.${key}`,
      name = key,
      reply = { type: 'string' },
      body,
      parameters = [],
      marks,
      responses,
    } = part
    const envelope = { type: 'object', properties: { data: reply } }
    const operation = {
      summary: `Run ${key}`,
      parameters,
      ...(body !== undefined && { requestBody: { required: true, content: body } }),
      responses: responses ?? { '200': { content: { 'application/json': { schema: envelope } } } },
      'x-portico': { id, name, path: `/${key}`, chains: ['consumer'], policy, refuses: [], ...marks },
    }
    return [`/web/v1/consumer/${key}`, { post: operation }]
  })
  const components = { schemas }
  return { openapi: '3.1.1', info: { version: '9.9.9' }, 'x-portico': {}, paths: Object.fromEntries(paths), components }
}

/** Compiles a module with the strictest settings, and loads it. */
async function load(text: string, use = ''): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(inject('runFolder'), 'module-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'module.ts'), text)
  writeFileSync(
    join(folder, 'use.ts'),
    `import type * as m from './module.js'\n${use}\nexport type Module = typeof m\n`,
  )
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--verbatimModuleSyntax']
  const target = ['--target', 'es2023', '--module', 'nodenext', '--noEmit', '--skipLibCheck', '--types', '']
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), ...strict, ...target, 'module.ts', 'use.ts']
  execFileSync(process.execPath, tsc, { cwd: folder, encoding: 'utf8' })
  return import(join(folder, 'module.ts'))
}

async function replyOf(schema: unknown, schemas: object = {}, use = ''): Promise<z.ZodType> {
  const { text } = writeModule(documentOf({ read: { reply: schema } }, schemas), 'a test')
  const { read } = await load(text, use)
  return z.object({ reply: z.custom<z.ZodType>((value) => value instanceof z.ZodType) }).parse(read).reply
}

/** A statement that compiles only if both types are the same. */
function sameType(type: string, expected: string): string {
  return `type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export const same: Same<${type}, ${expected}> = true`
}

describe('writeModule', () => {
  test('writes operations that createClient accepts, with the fields that the client reads', async () => {
    const id = { name: 'page', in: 'query', required: true, schema: { type: 'integer' } }
    const marks = { confirms: ['amount'], refuses: ['TEST.FULL'], machineParams: { a: 'b' } }
    const json = { 'application/json': { schema: { type: 'object', properties: { amount: { type: 'string' } } } } }
    const { text, operations, domains } = writeModule(documentOf({ pay: { parameters: [id], body: json, marks } }), 'x')
    expect([operations, domains]).toEqual([1, ['tests']])
    const { pay } = await load(text, `export const code: keyof PorticoCodes['tests'] = 'TEST.FULL'`)
    const fixed = { id: 'tests.pay', method: 'POST', path: '/pay', chains: ['consumer'], policy, ...marks }
    expect(pay).toMatchObject({ ...fixed, summary: 'Run pay' })
    expect(Object.keys(pay as object)).toEqual(expect.arrayContaining(['query', 'body', 'reply']))
  })

  test('declares the codes of hooks, which refuse operations of portico-client', async () => {
    const hooked = { id: 'transfers.create', name: 'createTransfer', refuses: ['LIMIT.EXCEEDED'], before: ['limits'] }
    const document = documentOf({ pay: {}, create: { marks: hooked } })
    const { text, operations } = writeModule(document, 'x')
    expect(operations).toBe(1)
    await load(text, `export const code: keyof PorticoCodes['codes of hooks'] = 'LIMIT.EXCEEDED'`)
  })

  test('is the same text for the same document, and names its source and the version', () => {
    const schemas = {
      B: { type: 'string' },
      A: { type: 'object', properties: { b: { $ref: '#/components/schemas/B' } } },
    }
    const parts = { b: { reply: { $ref: '#/components/schemas/A' } }, a: {} }
    const { text } = writeModule(documentOf(parts, schemas), 'https://portal.example/')
    expect(text).toMatch(/^\/\* Written by `portico client` from https:\/\/portal\.example\/, Portico 9\.9\.9\. /)
    const other = { ...documentOf({ a: {}, b: parts.b }, { A: schemas.A, B: schemas.B }) }
    expect(writeModule(other, 'https://portal.example/').text).toBe(text)
  })

  test.each([
    [
      'a field is optional unless it is required',
      { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'boolean' } }, required: ['b'] },
      '{ b: boolean; a?: number | undefined }',
      [{ b: true }, { a: 1, b: true }],
      [{}, { b: 1 }, null],
    ],
    ['null is a type', { type: ['string', 'null'] }, 'string | null', ['a', null], [1]],
    ['null is an alternative', { anyOf: [{ type: 'number' }, { type: 'null' }] }, 'number | null', [1, null], ['1']],
    ['a text has open values', { type: 'string', enum: ['A', 'B'] }, "'A' | 'B'", ['A', 'a newer one'], [1]],
    ['other values are closed', { enum: ['A', 1, null] }, "'A' | 1 | null", ['A', 1, null, 'B'], [2, true]],
    ['a constant is closed', { const: 'A' }, "'A'", ['A'], ['B']],
    [
      'a map has values of one type',
      { type: 'object', additionalProperties: { type: 'number' } },
      'Record<string, number>',
      [{ a: 1 }],
      [{ a: 'b' }],
    ],
    [
      'parts of allOf are joined',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
        ],
      },
      '{ a: string } & { b: string }',
      [{ a: '', b: '' }],
      [{ a: '' }],
    ],
    ['a keyword without a type is not checked', { if: { const: 1 } }, 'unknown', [1, 'a'], []],
    [
      'formats and limits are left to the gateway',
      { type: 'string', format: 'uuid', maxLength: 1 },
      'string',
      ['longer'],
      [1],
    ],
  ])('%s', async (_, schema, type, valid, invalid) => {
    const reply = await replyOf({ $ref: '#/components/schemas/It' }, { It: schema }, sameType('m.It', type))
    for (const value of valid) expect(reply.safeParse(value), JSON.stringify(value)).toMatchObject({ data: value })
    for (const value of invalid) expect(reply.safeParse(value).success, JSON.stringify(value)).toBe(false)
  })

  test('a component can contain itself, also through another one', async () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const Node = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        nodes: { type: 'array', items: ref('Leaf') },
        next: { anyOf: [ref('Node'), { type: 'null' }] },
      },
      required: ['name', 'nodes'],
    }
    const Leaf = { type: 'object', properties: { node: ref('Node') } }
    const use = 'export const nameOf = (node: m.Node): string | undefined => node.nodes[0]?.node?.next?.name'
    const reply = await replyOf(ref('Node'), { Node, Leaf }, use)
    const node = { name: 'a', nodes: [{ node: { name: 'b', nodes: [] } }], next: null }
    expect(reply.parse(node)).toEqual(node)
    expect(reply.safeParse({ ...node, nodes: [{ node: { name: 1 } }] }).success).toBe(false)
  })

  test('a list that contains itself compiles, with items of an unknown type', async () => {
    const list = { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/components/schemas/List' } }] }
    const reply = await replyOf({ $ref: '#/components/schemas/List' }, { List: list })
    expect([reply.safeParse(['a', ['b']]).success, reply.safeParse([1]).success]).toEqual([true, false])
  })

  test('a name that is taken or not a name is replaced by the id', async () => {
    const parts = {
      delete: {},
      listWallets: {},
      close: {},
      z: {},
      Thing: { reply: { $ref: '#/components/schemas/Thing' } },
      odd: { name: 'a b*/', id: 'tests.a b*/' },
      free: {},
    }
    const { text } = writeModule(documentOf(parts, { Thing: { type: 'string' } }), 'a test */ b')
    const names = ['testsDelete', 'testsListWallets', 'testsClose', 'testsZ', 'testsThing', 'testsAB', 'free', 'Thing']
    expect(Object.keys(await load(text)).sort()).toEqual(names.sort())
  })

  test('writeModule: components whose names are taken, equal or not names still compile', async () => {
    const named = ['z', 'openText', 'codes', 'class', 'string', 'A.b', 'A_b', 'é', 'ü', '1st', 'ok']
    const schemas = Object.fromEntries(named.map((name, at) => [name, { const: at }]))
    const properties = Object.fromEntries(named.map((name) => [name, { $ref: `#/components/schemas/${name}` }]))
    const object = { type: 'object', properties, required: named }
    const reply = await replyOf(object, schemas)
    const value = Object.fromEntries(named.map((name, at) => [name, at]))
    expect(reply.parse(value)).toEqual(value)
    expect(reply.safeParse({ ...value, 'A.b': value.A_b }).success).toBe(false)
  })

  test('writeModule: a field named __proto__ is read like any other', () => {
    const reply = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}')
    expect(writeModule(documentOf({ read: { reply } }), 'a test').text).toContain(
      '{ ["__proto__"]: z.string().optional() }',
    )
  })

  test('writeModule: a type that is listed twice takes no longer at each depth', () => {
    let reply: object = { type: 'string' }
    for (let depth = 0; depth < 24; depth++) reply = { type: ['array', 'array', 'null'], items: reply }
    expect(writeModule(documentOf({ read: { reply } }), 'a test').text.length).toBeLessThan(5_000)
  })

  test('two operations that would have one name are an error with both', () => {
    const parts = { a: { name: 'delete', id: 'a.b.c' }, b: { name: 'delete', id: 'a.b-c' } }
    expect(() => writeModule(documentOf(parts), 'a test')).toThrow('has two methods delete: rename the operation a.b.c')
  })

  test('texts of the document stay texts', async () => {
    const evil = '\'`\u0024{globalThis.evil=1}\\*/\u2028\n"] as const\nglobalThis.evil = 1 //'
    const object = { type: 'object', properties: { [evil]: { const: evil } }, required: [evil] }
    const { text } = writeModule(
      { ...documentOf({ a: { reply: object, marks: { refuses: [evil] } } }), info: { version: evil } },
      evil,
    )
    await load(text)
    expect(globalThis).not.toHaveProperty('evil')
  })

  test('forms, bytes and streams are responses, and WebSockets are omitted', async () => {
    const bytes = { '200': { content: { 'application/pdf': {} } } }
    const { text, operations } = writeModule(
      documentOf({
        upload: { body: { 'multipart/form-data': {} } },
        send: { body: { '*/*': {} }, responses: bytes },
        watch: { marks: { reply: 'events' }, responses: { '200': { content: { 'text/event-stream': {} } } } },
        talk: { marks: { reply: 'socket' }, responses: { '101': {} } },
      }),
      'a test',
    )
    const loaded = await load(text)
    expect(operations).toBe(3)
    expect(loaded).toMatchObject({
      upload: { body: 'multipart' },
      send: { body: 'raw', reply: 'stream' },
      watch: { body: 'none', reply: 'events' },
    })
  })

  test('an operation of a newer Portico is an error', () => {
    const document = documentOf({ a: { marks: { chains: ['partner'] } } })
    expect(() => writeModule(document, 'a test')).toThrow(
      'has POST /web/v1/consumer/a, which this version cannot read: use the version of the gateway',
    )
  })

  test.each([
    ['a text', 'hello'],
    ['another OpenAPI document', { openapi: '3.0.0', info: { version: '1' }, paths: {} }],
  ])('%s is an error', (_, json) => {
    expect(() => writeModule(json, 'a test')).toThrow('is not an OpenAPI document of a Portico gateway')
  })
})
