import { describe, expect, it } from 'vitest'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'
import { at, document, objectAt, operationOf } from './document-reader.ts'

/** Members whose values are not schemas. */
const skipped = ['x-portico', 'example', 'examples', 'default', 'enum', 'const']

/** Schemas for which generators create a type. Omits those that have a name. */
function inlineTypesIn(value: Json, isNamed = false): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((each) => inlineTypesIn(each))
  if (!isJsonObject(value)) return []
  const isType = (value.type === 'object' && value.properties !== undefined) || Array.isArray(value.enum)
  const members = Object.entries(value).filter(([name]) => !skipped.includes(name))
  return [...(isType && !isNamed ? [value] : []), ...members.flatMap(([, member]) => inlineTypesIn(member))]
}

describe('client generators', () => {
  it('get a time of its type, a code as text, and a file as bytes', () => {
    const schemas = objectAt(document, 'components', 'schemas')
    for (const frame of ['WalletResponse', 'Refusal']) {
      const fields = objectAt(schemas, frame, 'properties')
      expect(fields.timestamp, frame).toMatchObject({ type: 'integer', format: 'int64' })
      expect(fields.success, frame).toEqual({ type: 'boolean', examples: [frame !== 'Refusal'] })
      expect(fields.code, frame).toMatchObject({ type: 'string' })
    }
    expect(at(schemas, 'WalletStatus', 'properties', 'value')).toMatchObject({ format: 'int64' })
    expect(at(schemas, 'Flow', 'properties', 'sequence')).toEqual({ type: 'integer', format: 'int64' })
    const upload = operationOf('consumer', 'files.upload').requestBody
    expect(at(upload, 'content', 'multipart/form-data', 'schema', 'properties', 'file')).toMatchObject({
      format: 'binary',
    })
    const download = objectAt(operationOf('consumer', 'files.download'), 'responses')
    for (const status of ['200', '206'])
      expect(at(download, status, 'content', '*/*', 'schema')).toEqual({ type: 'string', format: 'binary' })
  })

  it('get one named type for each schema that occurs more than once', () => {
    const { schemas, responses, parameters } = objectAt(document, 'components')
    const inline = [
      ...Object.values(objectAt(schemas)).flatMap((each) => inlineTypesIn(each, true)),
      ...inlineTypesIn([responses ?? null, parameters ?? null, document.paths ?? null]),
    ].filter((each) => !Array.isArray(each.enum) || each.enum.length > 1)
    const texts = inline.map((each) => JSON.stringify(each))
    expect(texts.length).toBeGreaterThan(10)
    expect(texts.filter((text, place) => texts.indexOf(text) !== place)).toEqual([])
  })

  it('get the names of a record, its pages, its lists and their envelopes', () => {
    const names = Object.keys(objectAt(document, 'components', 'schemas'))
    expect(names).toEqual(
      expect.arrayContaining([
        ...['Transfer', 'TransferPage', 'TransferPageResponse', 'TransferResponse'],
        ...['TransferStatus', 'TransferStatusCode', 'WalletListResponse', 'BooleanResponse', 'EmptyResponse'],
      ]),
    )
    const success = (id: string) => objectAt(operationOf('consumer', id), 'responses', '200').content
    expect(success('transfers.list')).toMatchObject({
      'application/json': { schema: { $ref: '#/components/schemas/TransferPageResponse' } },
    })
    const filter = operationOf('consumer', 'transfers.list').parameters
    expect(filter).toContainEqual(
      expect.objectContaining({
        name: 'transferStatus',
        schema: { $ref: '#/components/schemas/TransferStatusCode' },
      }),
    )
  })

  it('get text in headers: some send other types unconverted', () => {
    for (const [name, parameter] of Object.entries(objectAt(document, 'components', 'parameters'))) {
      expect(at(parameter, 'schema', 'type'), name).toBe('string')
      expect(at(parameter, 'schema', 'format'), name).toBeUndefined()
    }
  })

  it('get a nullable value as one schema with its type: for two types they generate neither', () => {
    const schemas = objectAt(document, 'components', 'schemas')
    expect(at(schemas, 'Transfer', 'properties', 'completedAt')).toEqual({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'ISO 8601 in UTC, ending with `Z`',
    })
    expect(at(schemas, 'Workspace', 'properties', 'extraData')).toEqual({
      anyOf: [{ type: 'object', additionalProperties: {} }, { type: 'null' }],
    })
    expect(at(schemas, 'UpdateCurrentWorkspaceRequest', 'properties', 'extraData', 'type')).toEqual(['object', 'null'])
    expect(at(schemas, 'LimitMemberRequest', 'properties', 'policyConfig', 'type')).toEqual(['object', 'null'])
    expect(at(schemas, 'Refusal', 'properties', 'data')).toEqual({ const: null })
  })
})
