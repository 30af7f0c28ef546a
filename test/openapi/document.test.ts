import { isDeepStrictEqual } from 'node:util'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { describe, expect, it } from 'vitest'
import { catalogue, codedFamilies, numericCode, statusOf } from '../../src/contract/index.ts'
import { listRefusals } from '../../src/contract/policies.ts'
import { type ChainId, pathParamNames } from '../../src/kernel/index.ts'
import type { Example, Examples } from '../../src/openapi/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'
import { routes } from '../contract/routes.ts'
import { at, document, make, objectAt, operationOf, parametersOf } from './document-reader.ts'

const having = (id: string, example: Example): Examples => ({
  operations: new Map([[id, example]]),
  refusals: new Map(),
})

const headersOf = (operation: JsonObject, required: boolean): Json[] =>
  parametersOf(operation).flatMap((each) =>
    each.in === 'header' && each.required === required ? [each.name ?? ''] : [],
  )

const lint = async (source: object) => {
  const config = await createConfig({ extends: ['recommended-strict'] })
  return lintFromString({ source: JSON.stringify(source), absoluteRef: '/openapi.json', config })
}

/**
 * Paths that a router distinguishes and a strict OpenAPI reader does not, such as orders/{id}/completed and
 * orders/wallet/{id}.
 */
const stated = (problem: { ruleId: string; message: string }): boolean =>
  problem.ruleId === 'no-ambiguous-paths' && /orders\/wallet\/\{wallet_id\}/.test(problem.message)

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

  it('is OpenAPI 3.1 by the strictest linter rules, including its examples', async () => {
    const problems = await lint(document)
    expect(
      problems.filter((problem) => !stated(problem)).map(({ ruleId, message }) => `${ruleId}: ${message}`),
    ).toEqual([])
    expect(problems.filter(stated)).toHaveLength(2)
  })

  it('fails the linter with a wrong example', async () => {
    const reply = { version: '2.0.0', timestamp: 1, success: true, code: '2000', message: 'Success', data: 'yes' }
    const problems = await lint(await make(having('transfers.completed', { reply })))
    expect(problems.map(({ ruleId }) => ruleId)).toContain('no-invalid-media-type-examples')
  })

  it('has every operation of the catalogue on each of its chains, and nothing else', () => {
    const paths = Object.entries(objectAt(document, 'paths'))
    const documented = paths.flatMap(([path, item]) =>
      Object.keys(objectAt(item)).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(documented.toSorted()).toEqual(routes.map(({ name }) => name).toSorted())
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
      enum: ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'FAILED'],
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
      const schema = at(response, 'content', 'application/json', 'schema', 'allOf', '1', 'properties', 'code', 'enum')
      expect(schema, code).toContain(chain === 'self' ? numericCode(code) : code)
    }
  })

  it('declares its path parameters, its token and its workspace', () => {
    const inPath = parametersOf(documented).filter((each) => each.in === 'path')
    expect(inPath.map(({ name }) => name)).toEqual(pathParamNames(operation.path))
    expect(inPath.map(({ schema }) => schema)).toEqual(inPath.map(() => ({ type: 'string', format: 'uuid' })))
    expect(documented.security).toHaveLength(operation.policy.caller === 'anonymous' ? 0 : chain === 'api' ? 2 : 1)
    const { workspace } = operation.policy
    const isRequired = workspace === 'required' && chain !== 'api'
    expect(headersOf(documented, true).includes('X-Workspace-Id')).toBe(isRequired)
    expect(headersOf(documented, false).includes('X-Workspace-Id')).toBe(workspace !== 'none' && !isRequired)
  })
})

describe('an operation', () => {
  const portalHeaders = [
    'X-PORTAL-ACCESS-CODE',
    'X-Request-Id',
    'X-Client-Hash',
    'X-Forwarded-Proto',
    'CF-Connecting-IP',
    'Cf-Ray',
    'cf-ipcountry',
    'X-LOCALE',
  ]

  it('requires the headers of its chain', () => {
    expect(headersOf(operationOf('consumer', 'wallets.list'), true)).toEqual(portalHeaders)
    expect(headersOf(operationOf('system', 'transfers.approve'), true)).toEqual(portalHeaders)
    expect(headersOf(operationOf('self', 'sessions.selfConfig'), true)).toEqual(['X-Client-Hash'])
    expect(headersOf(operationOf('api', 'wallets.list'), true)).toEqual([])
    expect(headersOf(operationOf('api', 'transfers.create'), true)).toEqual(['X-Request-Id'])
  })

  it('has the access code of its portal as example', () => {
    const codeOf = (chain: ChainId, id: string) =>
      parametersOf(operationOf(chain, id)).find(({ name }) => name === 'X-PORTAL-ACCESS-CODE')?.example
    expect(codeOf('consumer', 'auth.loginInitiate')).toBe('consumer-dev')
    expect(codeOf('system', 'auth.loginInitiate')).toBe('system-dev')
  })

  it('declares a constant header as a list of one, since generators omit a constant one', () => {
    for (const [name, { in: place, schema }] of Object.entries(objectAt(document, 'components', 'parameters')).map(
      ([key, each]) => [key, isJsonObject(each) ? each : {}] as const,
    ))
      if (place === 'header') expect(Object.keys(isJsonObject(schema) ? schema : {}), name).not.toContain('const')
    const proto = parametersOf(operationOf('consumer', 'wallets.list')).find(
      (each) => each.name === 'X-Forwarded-Proto',
    )
    expect(proto?.schema).toEqual({ type: 'string', enum: ['https'] })
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

  it('accepts a sealed body at a portal, and declares whether the body is optional', () => {
    const body = operationOf('consumer', 'transfers.create').requestBody
    expect(at(body, 'required')).toBe(true)
    expect(at(body, 'content', 'application/json', 'schema', 'anyOf')).toEqual([
      { $ref: '#/components/schemas/CreateTransferRequest' },
      { $ref: '#/components/schemas/SealedBody' },
    ])
    const machine = operationOf('api', 'transfers.create').requestBody
    expect(at(machine, 'content', 'application/json', 'schema', 'required')).toContain('sourceWalletBizId')
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
      at(
        operationOf(chain, id),
        'responses',
        '200',
        'content',
        'application/json',
        'schema',
        'allOf',
        '1',
        'properties',
        'data',
      )
    const sealed = { $ref: '#/components/schemas/SealedReply' }
    for (const { chain, operation } of routes.filter(({ operation }) => operation.reply !== 'stream')) {
      const sealable = ['consumer', 'system', 'shared'].includes(chain) && operation.policy.channel === 'optional'
      const forms = objectAt(dataOf(chain, operation.id)).anyOf
      expect(Array.isArray(forms) && isDeepStrictEqual(forms.at(-1), sealed), `${chain} ${operation.id}`).toBe(sealable)
    }
    expect(at(document, 'components', 'schemas', 'SealedReply')).toMatchObject({
      properties: { payload: { type: 'string' } },
      required: ['payload'],
    })
  })

  it('declares lists with unique items', () => {
    const listOf = (id: string, field: string) => {
      const { requestBody } = operationOf('consumer', id)
      return at(requestBody, 'content', 'application/json', 'schema', 'anyOf', '0', 'properties', field)
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
    expect(Object.keys(objectAt(download, 'responses', '200', 'content'))).toEqual(['*/*'])
    for (const status of ['200', '206', '304'])
      expect(Object.keys(objectAt(download, 'responses', status, 'headers'))).toContain('Accept-Ranges')
    expect(Object.keys(objectAt(download, 'responses', '206', 'headers'))).toContain('Content-Range')
  })

  it('declares the fields of its refusals', () => {
    const responses = Object.entries(objectAt(document, 'components', 'responses'))
    for (const [name, result] of responses) {
      const fields = Object.keys(objectAt(result, 'headers'))
      expect(fields, name).toEqual(expect.arrayContaining(['X-Request-Id', 'RateLimit', 'RateLimit-Policy']))
      expect(fields.includes('Retry-After'), name).toBe(/RATE_LIMITED|IN_PROGRESS|SYSTEM\.UNAVAILABLE/.test(name))
      expect(fields.includes('Content-Range'), name).toBe(/RANGE_NOT_SATISFIABLE/.test(name))
      expect(fields.includes('WWW-Authenticate'), name).toBe(
        /TOKEN_|CREDENTIALS|CODE_INVALID|CLIENT_MISMATCH/.test(name),
      )
    }
  })

  it('describes rules beyond the fields: empty updates, unprintable texts', () => {
    const schemas = objectAt(document, 'components', 'schemas')
    expect(at(schemas, 'UpdateProfileRequest', 'minProperties')).toBe(1)
    expect(at(schemas, 'UpdateCurrentWorkspaceRequest', 'minProperties')).toBe(1)
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

  it('declares query parameters with their parsed types', () => {
    const query = parametersOf(operationOf('consumer', 'transfers.list')).filter((each) => each.in === 'query')
    const size = query.find((each) => each.name === 'pageSize')
    expect(size).toMatchObject({ required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } })
    // A request can have any time zone; only replies are in UTC.
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
    expect(at(schema, 'allOf', '1', 'properties', 'data', 'anyOf', '0', 'properties', 'items')).toEqual({
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
