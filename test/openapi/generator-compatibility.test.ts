import { describe, expect, it } from 'vitest'
import { at, document, objectAt, operationOf } from './document-reader.ts'

describe('client generators', () => {
  it('get a time of its type, a code as text, and a file as bytes', () => {
    const schemas = objectAt(document, 'components', 'schemas')
    for (const frame of ['Success', 'Refusal', 'SelfRefusal']) {
      const fields = objectAt(schemas, frame, 'properties')
      expect(fields.timestamp, frame).toMatchObject({ type: 'integer', format: 'int64' })
      expect(Object.keys(objectAt(fields.success)), frame).toEqual(['const'])
      expect(fields.code, frame).toMatchObject({ type: 'string' })
    }
    expect(at(schemas, 'WalletStatus', 'properties', 'value')).toMatchObject({ format: 'int64' })
    expect(at(schemas, 'Flow', 'properties', 'sequence')).toEqual({ type: 'integer', format: 'int64' })
    for (const [name, response] of Object.entries(objectAt(document, 'components', 'responses')))
      expect(
        at(response, 'content', 'application/json', 'schema', 'allOf', '1', 'properties', 'code', 'type'),
        name,
      ).toBe('string')
    const upload = operationOf('consumer', 'files.upload').requestBody
    expect(at(upload, 'content', 'multipart/form-data', 'schema', 'properties', 'file')).toMatchObject({
      format: 'binary',
    })
    const download = objectAt(operationOf('consumer', 'files.download'), 'responses')
    for (const status of ['200', '206'])
      expect(at(download, status, 'content', '*/*', 'schema')).toEqual({ type: 'string', format: 'binary' })
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
    for (const frame of ['Refusal', 'SelfRefusal'])
      expect(at(schemas, frame, 'properties', 'data')).toEqual({ const: null })
  })
})
