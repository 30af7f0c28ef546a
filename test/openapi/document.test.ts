import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { catalogue, codedFamilies, numericCode, statusOf } from '../../src/contract/index.ts'
import { listRefusals } from '../../src/contract/policies.ts'
import { type ChainId, chains, paramNameOn, pathOn, pathParamNames } from '../../src/kernel/index.ts'
import type { Example, Examples } from '../../src/openapi/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'
import { documentedRoutes as routes } from '../contract/routes.ts'
import { at, document, make, objectAt, operationOf, parametersOf, readerOf } from './document-reader.ts'

function having(id: string, example: Example): Examples {
  return {
    operations: new Map([[id, example]]),
    refusals: new Map(),
  }
}

const sealedDocument = await make(undefined, true)
const sealed = readerOf(sealedDocument)

function headersOf(operation: JsonObject, required: boolean, parameters = parametersOf): Json[] {
  return parameters(operation).flatMap((each) =>
    each.in === 'header' && each.required === required ? [each.name ?? ''] : [],
  )
}

describe('the document', () => {
  it('is built in batches, so that other requests are served meanwhile', async () => {
    let turns = 0
    let created = false
    const count = (): void => {
      turns++
      if (!created) setImmediate(count)
    }
    setImmediate(count)
    await make()
    created = true
    expect(turns).toBeGreaterThan(catalogue.length / 8)
  })

  it('has every operation of the catalogue on each of its chains, and nothing else', () => {
    const paths = Object.entries(objectAt(document, 'paths'))
    const documented = paths.flatMap(([path, item]) =>
      Object.keys(objectAt(item)).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const expected = routes.map(({ chain, operation }) => `${operation.method} ${pathOn(chains[chain], operation)}`)
    expect(documented.toSorted()).toEqual(expected.toSorted())
  })

  it('has unique operation ids', () => {
    const ids = routes.map(({ chain, operation }) => operationOf(chain, operation.id).operationId)
    expect(new Set(ids).size).toBe(routes.length)
  })

  it('has a component per family of coded values in replies', () => {
    const names = Object.keys(objectAt(document, 'components', 'schemas'))
    const families = [...codedFamilies.keys()].map((family) => family.charAt(0).toUpperCase() + family.slice(1))
    expect(families.filter((family) => !names.includes(family))).toEqual([])
    expect(
      at(document, 'components', 'schemas', 'Transfer', 'properties', 'transferStatus', 'properties', 'code'),
    ).toEqual({
      type: 'string',
      enum: ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'],
    })
  })

  it('has no missing and no unused component', () => {
    const text = JSON.stringify(document)
    const targets = new Set([...text.matchAll(/"#\/components\/([^"]+)"/g)].map((match) => match[1] ?? ''))
    for (const target of targets) expect(at(document, 'components', ...target.split('/')), target).toBeDefined()
    const kinds = ['schemas', 'parameters', 'responses', 'headers']
    const held = kinds.flatMap((kind) =>
      Object.keys(objectAt(document, 'components', kind)).map((name) => `${kind}/${name}`),
    )
    expect(held.filter((name) => !targets.has(name))).toEqual([])
    expect(text).not.toMatch(/\$defs|__schema/)
  })

  it('has tags and operations in the order of use, chain by chain', () => {
    const tags = at(document, 'tags')
    const names = Array.isArray(tags) ? tags.map((tag) => objectAt(tag).name) : []
    const ordered = ['auth', 'profile', 'workspaces', 'wallets', 'transfers', 'operators']
    expect(names.filter((name) => ordered.includes(String(name)))).toEqual(ordered)
    const idsOf = (tag: string) =>
      Object.values(objectAt(document, 'paths')).flatMap((item) =>
        Object.values(objectAt(item)).flatMap((operation) => {
          const { operationId } = objectAt(operation)
          return at(operation, 'tags', '0') === tag ? [operationId] : []
        }),
      )
    const steps = ['loginInitiate', 'mfaSend', 'loginComplete', 'logout', 'passkeyOptions', 'passkeyVerify']
    steps.push('providerInitiate', 'providerComplete', 'providers', 'refresh')
    expect(idsOf('auth')).toEqual(
      ['consumer', 'system'].flatMap((chain) => steps.map((step) => `${chain}.auth.${step}`)),
    )
    expect(idsOf('wallets').slice(0, 5)).toEqual(
      ['list', 'create', 'read', 'balance', 'flows'].map((name) => `consumer.wallets.${name}`),
    )
  })

  it('describes every tag', () => {
    const tags = at(document, 'tags')
    expect(Array.isArray(tags) && tags.filter((tag) => !objectAt(tag).description)).toEqual([])
  })
})

describe.each(routes)('$chain $operation.id', ({ chain, operation }) => {
  const documented = operationOf(chain, operation.id)

  it('lists every refusal under its status', () => {
    for (const code of listRefusals(operation, chain)) {
      const response = objectAt(documented, 'responses', String(statusOf(code)))
      const documentedCode = chain === 'self' ? numericCode(code) : code
      expect(at(response, 'x-portico', 'codes'), code).toContain(documentedCode)
      expect(response.description).toContain(`\`${documentedCode}\``)
      expect(at(response, 'content'), code).toMatchObject({
        'application/json': { schema: { $ref: '#/components/schemas/Refusal' } },
      })
    }
  })

  it('declares its path parameters and its workspace', () => {
    const inPath = parametersOf(documented).filter((each) => each.in === 'path')
    const names = pathParamNames(operation.path).map((name) => paramNameOn(chains[chain], operation, name))
    expect(inPath.map(({ name }) => name)).toEqual(names)
    const ids = inPath.filter(({ name }) => operation.params?.[String(name)] === undefined)
    expect(ids.map(({ schema }) => schema)).toEqual(ids.map(() => ({ type: 'string', format: 'uuid' })))
    const { workspace } = operation.policy
    const isRequired = workspace === 'required' && chain !== 'api'
    expect(headersOf(documented, true).includes('X-Workspace-Id')).toBe(isRequired)
    expect(headersOf(documented, false).includes('X-Workspace-Id')).toBe(workspace !== 'none' && !isRequired)
  })

  it('has no header among its parameters that a client sets once, except as an option', () => {
    const required = headersOf(documented, true)
    expect(required.filter((name) => name !== 'X-Workspace-Id')).toEqual([])
  })
})

describe('an operation', () => {
  const everywhere = ['X-Request-Id', 'X-LOCALE']

  it('has the headers of every request as options, and none of the edge', () => {
    for (const [chain, id, expected] of [
      ['consumer', 'wallets.list', [...everywhere, 'X-Workspace-Id']],
      ['system', 'transfers.approve', ['X-Request-Id', 'Idempotency-Key', 'X-LOCALE']],
      ['self', 'sessions.selfConfig', ['X-Request-Id', 'Accept-Language']],
      ['api', 'wallets.list', [...everywhere, 'X-Workspace-Id']],
    ] as const) {
      expect(headersOf(operationOf(chain, id), false), chain).toEqual(expected)
    }
    const names = Object.values(objectAt(document, 'components', 'parameters')).map((each) => String(at(each, 'name')))
    expect(names.filter((name) => /^(x-forwarded|cf-)/i.test(name))).toEqual([])
  })

  it('declares a constant header as a list of one, since generators omit a constant one', () => {
    for (const [name, { in: place, schema }] of Object.entries(
      objectAt(sealedDocument, 'components', 'parameters'),
    ).map(([key, each]) => [key, isJsonObject(each) ? each : {}] as const))
      if (place === 'header') expect(Object.keys(isJsonObject(schema) ? schema : {}), name).not.toContain('const')
    expect(sealed.at(sealedDocument, 'components', 'schemas', 'ChannelReply')).toEqual({
      type: 'string',
      enum: ['encrypted'],
    })
  })

  it('restricts the locale only where the gateway does: a machine can send any', () => {
    const localeOf = (chain: ChainId) =>
      parametersOf(operationOf(chain, 'wallets.list')).find(({ name }) => name === 'X-LOCALE')?.schema
    expect(localeOf('consumer')).toEqual({ type: 'string', minLength: 1, maxLength: 64, pattern: '^[ -~]+$' })
    expect(localeOf('api')).toEqual({ type: 'string' })
  })

  it('declares an observed 500 only on the chains that return it', () => {
    const failure = (chain: ChainId) => at(operationOf(chain, 'transfers.list'), 'responses', '500', 'description')
    const note = 'the documented response to a call without query parameters'
    expect(failure('consumer')).toContain(note)
    expect(failure('api')).not.toContain(note)
  })

  it('accepts a sealed body at a portal in the document of the secure channel only', () => {
    const plain = { $ref: '#/components/schemas/CreateTransferRequest' }
    const schemaIn = ({ at, operationOf }: Pick<typeof sealed, 'at' | 'operationOf'>, chain: ChainId) =>
      at(operationOf(chain, 'transfers.create').requestBody, 'content', 'application/json')
    expect(schemaIn({ at, operationOf }, 'consumer')).toMatchObject({ schema: plain })
    expect(schemaIn(sealed, 'consumer')).toMatchObject({
      schema: { anyOf: [plain, { $ref: '#/components/schemas/SealedBody' }] },
    })
    expect(schemaIn(sealed, 'api')).toMatchObject({ schema: plain })
    const channelHeaders = ['X-Secure-Channel-Session-Id', 'X-Secure-Channel-Reply']
    const shown = (operation: JsonObject, parameters?: typeof parametersOf) =>
      headersOf(operation, false, parameters).filter((each) => channelHeaders.includes(String(each)))
    expect(shown(operationOf('consumer', 'transfers.create'))).toEqual([])
    expect(shown(sealed.operationOf('consumer', 'transfers.create'), sealed.parametersOf)).toEqual(channelHeaders)
    // The header names the session to close.
    expect(shown(operationOf('consumer', 'secureChannel.close'))).toEqual(['X-Secure-Channel-Session-Id'])
    expect(JSON.stringify(document)).not.toMatch(/Sealed/)
  })

  it('declares whether the body is optional', () => {
    expect(at(operationOf('consumer', 'transfers.create').requestBody, 'required')).toBe(true)
    expect(at(operationOf('consumer', 'mfa.otpRevoke').requestBody, 'required')).toBe(false)
    expect(operationOf('consumer', 'auth.logout').requestBody).toBeUndefined()
    expect(
      at(operationOf('consumer', 'secureChannel.open').requestBody, 'content', 'application/json', 'schema'),
    ).toEqual({
      type: 'object',
      properties: { payload: { type: 'string', maxLength: 8_192 } },
      required: ['payload'],
      additionalProperties: false,
    })
  })

  it('returns sealed data where the policy allows it', () => {
    const dataOf = (chain: ChainId, id: string) =>
      sealed.at(
        sealed.operationOf(chain, id),
        'responses',
        '200',
        'content',
        'application/json',
        'schema',
        'properties',
        'data',
      )
    const sealedReply = { $ref: '#/components/schemas/SealedReply' }
    for (const { chain, operation } of routes.filter(({ operation }) => typeof operation.reply !== 'string')) {
      const sealable = ['consumer', 'system', 'shared'].includes(chain) && operation.policy.channel === 'optional'
      const forms = sealed.objectAt(dataOf(chain, operation.id)).anyOf
      const isSealed = Array.isArray(forms) && isDeepStrictEqual(forms.at(-1), sealedReply)
      expect(isSealed, `${chain} ${operation.id}`).toBe(sealable)
    }
    expect(sealed.at(sealedDocument, 'components', 'schemas', 'SealedReply')).toMatchObject({
      properties: { payload: { type: 'string' } },
      required: ['payload'],
    })
  })

  it('declares lists with unique items', () => {
    const listOf = (id: string, field: string) => {
      const { requestBody } = operationOf('consumer', id)
      return at(requestBody, 'content', 'application/json', 'schema', 'properties', field)
    }
    for (const [id, field] of [
      ['ipWhitelist.replace', 'addresses'],
      ['roles.create', 'permissionCodes'],
      ['apiKeys.create', 'ipAllowlist'],
    ] as const)
      expect(listOf(id, field), id).toMatchObject({ uniqueItems: true })
  })

  it('accepts a form and returns a file', () => {
    const form = at(
      operationOf('consumer', 'files.upload').requestBody,
      'content',
      'multipart/form-data',
      'schema',
      'required',
    )
    expect(form).toEqual(['file', 'purpose'])
    const download = operationOf('consumer', 'files.download')
    expect(Object.keys(objectAt(download, 'responses'))).toEqual(expect.arrayContaining(['200', '206', '304', '416']))
    expect(headersOf(download, false)).toEqual(expect.arrayContaining(['Range', 'If-None-Match']))
    expect(Object.keys(objectAt(download, 'responses', '200', 'content'))).toEqual(['application/octet-stream', '*/*'])
    for (const status of ['200', '206', '304'])
      expect(Object.keys(objectAt(download, 'responses', status, 'headers'))).toContain('Accept-Ranges')
    expect(Object.keys(objectAt(download, 'responses', '206', 'headers'))).toContain('Content-Range')
  })

  it('declares the fields of its refusals', () => {
    const responses = Object.entries(objectAt(document, 'components', 'responses'))
    for (const [id, result] of responses) {
      const name = `${id} ${JSON.stringify(at(result, 'x-portico', 'codes'))}`
      const fields = Object.keys(objectAt(result, 'headers'))
      expect(fields, name).toEqual(expect.arrayContaining(['X-Request-Id', 'RateLimit', 'RateLimit-Policy']))
      expect(fields.includes('Retry-After'), name).toBe(
        /RATE_LIMITED|IN_PROGRESS|SYSTEM\.UNAVAILABLE|"4290"|"5030"/.test(name),
      )
      expect(fields.includes('Content-Range'), name).toBe(/RANGE_NOT_SATISFIABLE/.test(name))
      expect(fields.includes('WWW-Authenticate'), name).toBe(
        /TOKEN_|CREDENTIALS|CODE_INVALID|CLIENT_MISMATCH|PASSKEY_INVALID|PROVIDER_REFUSED|"4010"/.test(name),
      )
    }
  })

  it('gives components names that are short, and differ in more than their case', () => {
    const components = Object.values(objectAt(document, 'components')).flatMap((each) => [Object.keys(objectAt(each))])
    for (const names of components) {
      expect(names.filter((name) => name.length > 60)).toEqual([])
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
    }
  })

  it('describes the ids of replies as UUIDs, like those of requests', () => {
    const order = objectAt(document, 'components', 'schemas', 'Transfer', 'properties')
    for (const name of ['bizId', 'workspaceBizId'])
      expect(order[name]).toMatchObject({ type: 'string', format: 'uuid' })
  })

  it('describes rules beyond the fields: empty updates, unprintable texts', () => {
    const schemas = objectAt(document, 'components', 'schemas')
    expect(at(schemas, 'UpdateProfileRequest', 'minProperties')).toBe(1)
    expect(at(schemas, 'UpdateCurrentWorkspaceRequest', 'minProperties')).toBeUndefined()
    expect(at(schemas, 'UpdateRoleRequest', 'minProperties')).toBe(2)
    expect(at(schemas, 'LimitMemberRequest', 'properties', 'policyConfig', 'minProperties')).toBe(1)
    const extraData = at(schemas, 'UpdateCurrentWorkspaceRequest', 'properties', 'extraData')
    expect(extraData).toMatchObject({ maxProperties: 64 })
    expect(at(schemas, 'ForgotPasswordRequest', 'properties', 'email')).toMatchObject({ format: 'email' })
    expect(at(schemas, 'ReplaceIpWhitelistRequest', 'properties', 'addresses', 'items', 'description')).toMatch(/CIDR/)
    expect(at(schemas, 'CreateWithdrawalChannelRequest', 'properties', 'network', 'description')).toMatch(/CRYPTO/)
    const printable = new RegExp(String(at(schemas, 'FreezeWalletRequest', 'properties', 'reason', 'pattern')))
    expect(
      ['Đặng\tThị\r\nNgọc', 'a\u0000b', 'a\u001fb', 'a\u007fb', 'a\u0085b'].filter((each) => printable.test(each)),
    ).toEqual(['Đặng\tThị\r\nNgọc'])
  })

  it('describes the format of a currency and a rate', () => {
    const fields = objectAt(document, 'components', 'schemas', 'SetExchangeRateRequest', 'properties')
    const written = (...path: string[]) => new RegExp(String(at(fields, ...path, 'pattern')))
    expect(['USD', 'USDT', '', 'usd', 'US'].filter((each) => written('sourceCurrency').test(each))).toEqual([
      'USD',
      'USDT',
    ])
    const isRate = (each: string) => written('rate').test(each) && !written('rate', 'not').test(each)
    expect(['0.9215', '12', '', '-1', '1e3', '0', '0.0'].filter(isRate)).toEqual(['0.9215', '12'])
  })

  it('has patterns that client generators can copy: no escaped slash, one next to a length', () => {
    const objectsIn = (value: Json): JsonObject[] =>
      Array.isArray(value)
        ? value.flatMap(objectsIn)
        : isJsonObject(value)
          ? [value, ...Object.values(value).flatMap(objectsIn)]
          : []
    const awkward = objectsIn(document).filter(
      ({ pattern, maxLength, allOf }) => String(pattern).includes('\\/') || (maxLength !== undefined && allOf),
    )
    expect(awkward).toEqual([])
  })

  it('declares Idempotency-Key for idempotent operations, in requests and responses', () => {
    for (const { operation, chain, name } of routes) {
      const documented = operationOf(chain, operation.id)
      const fields = at(documented, 'responses', '200', 'headers')
      const { idempotent } = operation.policy
      expect(headersOf(documented, false).includes('Idempotency-Key'), name).toBe(idempotent)
      expect(isJsonObject(fields) && 'Idempotency-Key' in fields, name).toBe(idempotent)
    }
  })

  it('declares query parameters with their parsed types', () => {
    const query = parametersOf(operationOf('consumer', 'transfers.list')).filter((each) => each.in === 'query')
    const size = query.find((each) => each.name === 'pageSize')
    expect(size).toMatchObject({ required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } })
    // Requests can have any time zone; only replies are in UTC.
    const zone = 'ISO 8601 with a time zone: `Z`, or an offset such as `+02:00`'
    const start = query.find((each) => each.name === 'startTime')
    expect(start).toMatchObject({ description: `Start of the interval, inclusive. ${zone}` })
    const end = query.find((each) => each.name === 'endTime')
    expect(end).toMatchObject({ description: `End of the interval, inclusive. ${zone}` })
  })

  it('returns its data in the envelope', () => {
    const schema = at(
      operationOf('consumer', 'transfers.list'),
      'responses',
      '200',
      'content',
      'application/json',
      'schema',
    )
    expect(at(schema, 'required')).toEqual(['version', 'timestamp', 'success', 'code', 'message', 'data'])
    expect(at(schema, 'properties', 'data', 'properties', 'items')).toEqual({
      type: 'array',
      items: { $ref: '#/components/schemas/Transfer' },
    })
  })

  it('has the examples that the tests recorded', async () => {
    const request = { sessionId: 's' }
    const shown = await make(having('sessions.terminate', { request, reply: { data: null } }))
    const operation = objectAt(shown, 'paths', '/web/v1/system/security/sessions/terminate', 'post')
    expect(at(operation.requestBody, 'content', 'application/json', 'examples', 'recorded', 'value')).toEqual(request)
  })
})
