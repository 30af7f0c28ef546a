import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { catalogueOfPortal } from '../../../src/compose/catalogue.ts'
import type { EventRow } from '../../../src/contract/events/event.ts'
import { bankingCatalogue, type Catalogue } from '../../../src/contract/index.ts'
import { openApiDocument } from '../../../src/openapi/index.ts'
import type { JsonObject } from '../../../src/openapi/json.ts'
import { document, readerOf } from '../document-reader.ts'
import { lint } from '../lint.ts'

const forOperators = {
  summary: 'A risk is reported.',
  data: z.object({ risk: z.string(), details: z.object({ score: z.int() }) }),
  audience: 'operators',
  permission: 'event:read',
  operatorPermission: 'event:read',
  owner: 'risks',
} as const
const catalogue: Catalogue = {
  ...bankingCatalogue,
  events: new Map([...bankingCatalogue.events, ['risk.found', forOperators], ['risk.gone', forOperators]]),
}
const documentOf = (from: Catalogue) => openApiDocument(from, { version: '1.0.0' })
const typesIn = ({ webhooks }: JsonObject) => Object.keys(webhooks ?? {})

describe('webhooks in the document', () => {
  test.each([...bankingCatalogue.events])('%s: has the event with the declared data', (type, { summary, data }) => {
    const { at } = readerOf(document)
    const operation = ['webhooks', type, 'post']
    expect(at(document, ...operation)).toMatchObject({ operationId: `webhook.${type}`, summary })
    const schema = [...operation, 'requestBody', 'content', 'application/json', 'schema']
    expect(at(document, ...schema, 'properties', 'type')).toEqual({ type: 'string', const: type })
    expect(Object.keys(at(document, ...schema, 'properties', 'data', 'properties') ?? {})).toEqual(
      Object.keys(data instanceof z.ZodObject ? data.shape : {}),
    )
    expect(at(document, ...schema, 'required')).toEqual(
      expect.arrayContaining(['specversion', 'id', 'source', 'type', 'time', 'subject', 'data']),
    )
  })

  test('have the headers of Standard Webhooks, and the responses of a receiver', () => {
    const { at, objectAt } = readerOf(document)
    const webhook = objectAt(document, 'webhooks', 'transfer.completed')
    const parameters = at(webhook, 'post', 'parameters') ?? null
    const headers = [0, 1, 2].map((place) => at(parameters, String(place), 'name'))
    expect(headers).toEqual(['webhook-id', 'webhook-timestamp', 'webhook-signature'])
    expect(Object.keys(objectAt(webhook, 'post', 'responses'))).toEqual(['410', '2XX', 'default'])
  })

  test('have a separate tag: OpenAPI Generator would replace the class of a domain', () => {
    const { at } = readerOf(document)
    const tags = at(document, 'tags')
    const own = { name: 'webhook requests', description: 'Requests that Portico sends to webhooks.' }
    expect(Array.isArray(tags) && tags.at(-1)).toEqual(own)
    expect(bankingCatalogue.summaries.has(own.name)).toBe(false)
    expect(at(document, 'webhooks', 'transfer.completed', 'post', 'tags')).toEqual([own.name])
  })

  test('say who reads the events', () => {
    const { at } = readerOf(document)
    expect(at(document, 'webhooks', 'transfer.completed', 'post', 'x-portico')).toEqual({
      owner: 'transfers',
      audience: 'workspace',
      permission: 'transfer:read',
      operatorPermission: 'transfer:read',
    })
  })

  test('refer to the record that operations return', () => {
    const { TransferCompletedEvent, ExchangeCompletedEvent } = readerOf(document).objectAt(
      document,
      'components',
      'schemas',
    )
    expect([TransferCompletedEvent, ExchangeCompletedEvent]).toMatchObject(
      ['Transfer', 'Exchange'].map((name) => ({ properties: { data: { $ref: `#/components/schemas/${name}` } } })),
    )
  })

  test('name data that types have in common, and pass the strictest rules', async () => {
    const made = await documentOf(catalogue)
    const { RiskFoundEvent, RiskGoneEvent, RiskData } = readerOf(made).objectAt(made, 'components', 'schemas')
    expect([RiskFoundEvent, RiskGoneEvent]).toMatchObject(
      Array.from({ length: 2 }, () => ({ properties: { data: { $ref: '#/components/schemas/RiskData' } } })),
    )
    expect(RiskData).toMatchObject({ properties: { risk: { type: 'string' } } })
    expect(lint(made).filter(({ ruleId }) => ruleId !== 'no-ambiguous-paths')).toEqual([])
  })

  test('of the portal of members, without those for operators and their schemas', async () => {
    const [consumer, system] = await Promise.all(
      (['CONSUMER', 'SYSTEM'] as const).map((portal) => documentOf(catalogueOfPortal(catalogue, portal))),
    )
    const typesThat = (isRead: (row: EventRow) => boolean) =>
      [...catalogue.events].flatMap(([type, row]) => (isRead(row) ? [type] : []))
    expect(typesIn(system ?? {})).toEqual(typesThat(({ operatorPermission }) => operatorPermission !== null))
    expect(typesIn(consumer ?? {})).toEqual(typesThat(({ audience }) => audience === 'workspace'))
    expect(JSON.stringify(consumer)).not.toMatch(/risk/i)
  })

  test('are absent without the domain that sends them', async () => {
    const summaries = new Map([...bankingCatalogue.summaries].filter(([name]) => name !== 'webhooks'))
    const made = await documentOf({ ...bankingCatalogue, summaries })
    expect(typesIn(made)).toEqual([])
    expect(JSON.stringify(made)).not.toContain('TransferCompletedEvent')
  })
})
