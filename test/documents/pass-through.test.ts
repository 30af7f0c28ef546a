import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { toContract } from '../../src/api/domain.ts'
import { catalogueWith } from '../../src/contract/index.ts'
import { passThroughErrors } from '../../src/contract/pass-through.ts'
import { own } from '../../src/contract/policies.ts'
import { readDocument } from '../../src/documents/index.ts'
import type { Operation } from '../../src/kernel/index.ts'
import { openApiDocument } from '../../src/openapi/index.ts'

const policy = { ...own, channel: 'none' } as const
const base = { method: 'GET', chains: ['consumer'], policy, body: 'none', refuses: [] } as const
const watch: Operation = { ...base, id: 'feed.watch', path: '/feed', summary: 'Watch', reply: 'events' }
const talk: Operation = { ...base, id: 'feed.talk', path: '/feed/socket', summary: 'Talk', reply: 'socket' }
const read: Operation = { ...base, id: 'feed.read', path: '/feed/{feed_id}', summary: 'Read', reply: 'raw' }
const load: Operation = {
  ...base,
  id: 'feed.load',
  path: '/feed/load',
  summary: 'Load',
  method: 'POST',
  body: 'raw',
  reply: 'raw',
}
const render: Operation = {
  ...load,
  id: 'feed.render',
  path: '/feed/render',
  body: z.strictObject({ title: z.string() }),
}

describe('operations that are passed through', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-document-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('the OpenAPI document, read as the input of another gateway, has the same operations', async () => {
    const operations = { watch, talk, read, load, render }
    const catalogue = catalogueWith({ feed: { ...operations, summary: 'Feeds.' } })
    const document = await openApiDocument(catalogue, { version: '1.0.0' })
    const file = join(folder, 'feed.json')
    writeFileSync(file, JSON.stringify(document))
    const found = readDocument(file)
    if ('errors' in found) throw new Error(found.errors.join('\n'))
    const again = catalogueWith(Object.fromEntries(found.domains.map((each, at) => [each.name, toContract(each, at)])))
    const kindsOf = (all: readonly Operation[]) =>
      all
        .filter(({ id }) => id.startsWith('feed.'))
        .map(({ id, method, body, reply }) => [id, method, typeof body === 'string' ? body : 'json', reply])
        // A document lists the operations in the order of use.
        .sort(([left], [right]) => String(left).localeCompare(String(right)))
    expect(kindsOf(again.operations)).toEqual(kindsOf(catalogue.operations))
    const pathsOf = ({ paths }: Record<string, unknown>) => paths
    expect(pathsOf(await openApiDocument(again, { version: '1.0.0' }))).toEqual(pathsOf(document))
  })

  test('a document with parameters in its media types declares JSON, not bytes', async () => {
    const check: Operation = { ...render, id: 'feed.check', path: '/feed/check', reply: z.boolean() }
    const contract = catalogueWith({ feed: { check, summary: 'Feeds.' } })
    const document = JSON.stringify(await openApiDocument(contract, { version: '1.0.0' }))
    const file = join(folder, 'parameters.json')
    writeFileSync(file, document.replaceAll('"application/json"', '"Application/JSON; charset=utf-8"'))
    const found = readDocument(file)
    if ('errors' in found) throw new Error(found.errors.join('\n'))
    const [read] = found.domains.flatMap(({ operations }) => Object.values(operations))
    expect([typeof read?.body, typeof read?.reply]).toEqual(['object', 'object'])
  })

  test.each<[string, Operation, string]>([
    ['events by POST', { ...watch, method: 'POST' }, 'method'],
    ['a WebSocket with a body', { ...talk, body: z.strictObject({}) }, 'body'],
    ['a raw operation with a form', { ...load, body: 'multipart' }, 'body'],
    ['a raw body with a JSON reply', { ...load, reply: z.boolean() }, 'body'],
    ['an idempotent operation', { ...load, policy: { ...policy, idempotent: true } }, 'policy.idempotent'],
    ['the secure channel', { ...watch, policy: { ...policy, channel: 'optional' } }, 'policy.channel'],
  ])('the catalogue refuses %s', (_name, operation, field) => {
    expect(passThroughErrors(operation).map(([name]) => name)).toEqual([field])
    expect(() => catalogueWith({ feed: { operation } })).toThrow(`operations.operation.${field}: `)
  })
})
