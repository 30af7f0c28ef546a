import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AssertionClaims } from '../../src/backends/index.ts'
import { buildRequest } from '../../src/backends/upstream/request.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { listServiceRefusals } from '../../src/contract/policies.ts'
import { chains, domainOf, pathOn } from '../../src/kernel/index.ts'
import { readExamples, serviceDocument } from '../../src/openapi/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'
import { lint } from './lint.ts'

const examples = readExamples(new URL('../../docs/examples.json', import.meta.url))
function make(...domains: string[]): Promise<JsonObject> {
  return serviceDocument(bankingCatalogue, {
    version: '1.0.0',
    domains,
    issuer: 'portico',
    audience: 'bank',
    claims: z.toJSONSchema(AssertionClaims, { io: 'input' }),
    examples,
    sentence: (code) => code,
  })
}

function at(value: Json | undefined, ...names: string[]): Json | undefined {
  return names.reduce<Json | undefined>((found, name) => (isJsonObject(found) ? found[name] : undefined), value)
}

/** The interface has orders/{id}/completed and orders/wallet/{id}. No path matches both, because the ids are UUIDs. */
function isKnown({ ruleId, message }: { ruleId: string; message: string }): boolean {
  return ruleId === 'no-ambiguous-paths' && message.includes('orders/wallet/{wallet_id}')
}

test.each([['wallets'], ['files'], [...bankingCatalogue.routableDomains]])(
  'the document of a service for %s is OpenAPI 3.1 by the strictest linter rules, including its examples',
  async (...domains) => {
    const problems = lint(await make(...domains))
    expect(problems.filter((each) => !isKnown(each)).map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([])
  },
)

describe.each(bankingCatalogue.routableDomains)('the document of a service for %s', (domain) => {
  test('has each operation once, with the refusals that a service can return', async () => {
    const document = await make(domain)
    const operations = bankingCatalogue.operations.filter(({ id }) => domainOf(id) === domain)
    const paths = isJsonObject(document.paths) ? Object.values(document.paths) : []
    expect(paths.flatMap((item) => Object.keys(isJsonObject(item) ? item : {}))).toHaveLength(operations.length)
    for (const operation of operations) {
      const path = pathOn(chains[operation.chains[0]], operation)
      const entry = at(document, 'paths', path, operation.method.toLowerCase())
      expect(at(entry, 'security'), operation.id).toEqual([{ callAssertion: [] }])
      const statuses = listServiceRefusals(operation).map((code) => String(bankingCatalogue.statusOf(code)))
      expect(Object.keys(at(entry, 'responses') ?? {})).toEqual(expect.arrayContaining(['401', ...statuses]))
      expect(JSON.stringify(entry)).not.toMatch(/SYSTEM\.|ROUTE\.|ACCESS\.TOKEN|PORTAL_MISMATCH|SECURE_CHANNEL/)
    }
  })
})

test('two domains share one document', async () => {
  const paths = Object.keys((await make('wallets', 'transfers')).paths ?? {})
  expect(paths).toEqual(
    expect.arrayContaining(['/web/v1/consumer/wallets', '/web/v1/consumer/transfer/command/create']),
  )
})

test('the headers are those that the gateway sends', async () => {
  const parameters = at(await make('files', 'wallets', 'transfers'), 'components', 'parameters')
  const documented = Object.values(isJsonObject(parameters) ? parameters : {}).map((each) => ({
    name: String(at(each, 'name')).toLowerCase(),
    required: at(each, 'required'),
  }))
  const [operation = expect.fail('no operation')] = bankingCatalogue.operations
  const { headers } = buildRequest(
    {
      operation,
      params: {},
      input: { query: {}, body: null },
      requestId: 'one',
      idempotency: { key: 'one', bodyHash: '' },
      locale: 'en',
      clientIp: '',
      country: '',
      userAgent: '',
      trace: null,
    },
    'assertion',
  )
  // OpenAPI describes these elsewhere.
  const sent = Object.keys(headers).filter((name) => name !== 'accept' && name !== 'authorization')
  expect(documented.filter(({ required }) => required).map(({ name }) => name)).toEqual(expect.arrayContaining(sent))
  expect(documented.filter(({ required }) => required)).toHaveLength(sent.length)
  expect(documented.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['range', 'if-none-match', 'x-client-method']),
  )
})

test('the claims of the assertion, its issuer and its audience are documented', async () => {
  const { components } = await make('wallets')
  const assertion = at(components, 'securitySchemes', 'callAssertion', 'x-claims')
  expect(Object.keys(at(assertion, 'properties') ?? {})).toEqual(
    expect.arrayContaining(['iss', 'aud', 'exp', 'nbf', 'portal', 'sub', 'workspace', 'permissions', 'steppedUpAt']),
  )
  expect(at(assertion, 'properties', 'aud')).toEqual({ const: 'bank' })
  expect(at(components, 'securitySchemes', 'callAssertion', 'description')).toContain('`aud` (`bank`)')
})

test('replies are the data without the envelope, and an idempotent command says so', async () => {
  const document = await make('wallets', 'transfers')
  const list = at(document, 'paths', '/web/v1/consumer/wallets', 'get')
  const schema = at(list, 'responses', '200', 'content', 'application/json', 'schema')
  expect(schema).toEqual({ type: 'array', items: { $ref: '#/components/schemas/Wallet' } })
  const create = at(document, 'paths', '/web/v1/consumer/transfer/command/create', 'post')
  expect(at(create, 'description')).toContain('`Idempotency-Key` identifies the command')
  expect(at(create, 'requestBody', 'content', 'application/json', 'schema')).toEqual({
    $ref: '#/components/schemas/CreateTransferRequest',
  })
})
