import { z } from 'zod'
import type { Domain } from '../api/domain.ts'
import { listRefusals, observedErrors } from '../contract/policies.ts'
import { bankingDomains } from '../domains/index.ts'
import {
  type Chain,
  type ChainId,
  chains,
  type Operation,
  operationsIn,
  type Portal,
  pathParamNames,
  pipelineCodes,
} from '../kernel/index.ts'
import { systemIds } from '../platform/runtime/index.ts'
import { developmentIds } from '../seed/development.ts'
import { accessCodes, startPortico, type TestPortico } from './start.ts'

/** The functions of vitest, or of a test runner with the same functions. */
export interface TestFunctions {
  describe(name: string, define: () => void): void
  test(name: string, run: () => Promise<void>): void
  beforeAll(run: () => Promise<void>): void
  afterAll(run: () => Promise<void>): void
  expect(actual: unknown, message?: string): { toEqual(expected: unknown): void; toContain(expected: unknown): void }
}

interface Promised {
  name: string
  operation: Operation
  chainId: ChainId
  chain: Chain
}

/** A token, and the client hash to which it is bound. */
interface Credentials {
  accessToken: string
  clientHash: string
}

interface Signed {
  owner: Credentials
  member: Credentials
  operator: Credentials
}

const Envelope = z.object({ code: z.string() })
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), z.record(z.string(), z.unknown()))) })

/** Permissions that the role of `member@demo.test` contains. */
const memberHas = (permission: string): boolean => permission.endsWith(':read') || permission === 'transfer:create'

const headersOf = (chain: Chain, { clientHash, accessToken }: Partial<Credentials>): Record<string, string> => ({
  'x-portal-access-code': accessCodes[chain.portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER'],
  'x-request-id': systemIds.next(),
  'x-client-hash': clientHash ?? 'portico-testing',
  'x-forwarded-proto': 'https',
  'cf-connecting-ip': '203.0.113.7',
  'cf-ray': '8f2a1b3c4d5e6f70-FRA',
  'cf-ipcountry': 'DE',
  'x-locale': 'en',
  'content-type': 'application/json',
  ...(accessToken !== undefined && { authorization: `Bearer ${accessToken}` }),
})

interface Sent {
  as?: Credentials
  /** Overrides headers; null removes one. */
  headers?: Record<string, string | null>
  query?: string
  body?: string
}

/** Sends a request with a random id for each path parameter. Returns the status and the code. */
const sendTo = async (url: string, { operation, chain }: Promised, sent: Sent = {}): Promise<[number, string]> => {
  const headers = new Headers(headersOf(chain, sent.as ?? {}))
  for (const [name, value] of Object.entries(sent.headers ?? {})) {
    if (value === null) headers.delete(name)
    else headers.set(name, value)
  }
  const path = operation.path.replaceAll(/\{\w+\}/g, () => systemIds.next())
  const response = await fetch(url + chain.prefix + path + (sent.query ?? ''), {
    method: operation.method,
    headers,
    body: operation.method === 'POST' ? (sent.body ?? (operation.body === 'none' ? null : '{}')) : null,
  })
  const text = await response.text()
  return [response.status, response.ok ? '' : Envelope.parse(JSON.parse(text)).code]
}

const isPortal = ({ perimeter }: Chain): boolean => perimeter === 'portal'
const hasJsonBody = ({ body }: Operation): boolean => body !== 'none' && body !== 'multipart'
const inWorkspace = ({ policy }: Operation) =>
  policy.workspace === 'none' ? {} : { 'x-workspace-id': developmentIds.workspace }

/** Registers the tests of one operation on one of its chains. */
const promiseOperation = (
  promised: Promised,
  { test, expect }: TestFunctions,
  gateway: () => TestPortico,
  signed: () => Signed,
): void => {
  const { name, operation, chainId, chain } = promised
  const { id, policy, body, method } = operation
  const own = (): Credentials => (chain.portal === 'SYSTEM' ? signed().operator : signed().owner)
  const send = (sent?: Sent) => sendTo(gateway().url, promised, sent)
  const known = { ...inWorkspace(operation) }

  if (isPortal(chain))
    test(`${id} 403 ACCESS.PORTAL_MISMATCH: without the access code of the portal`, async () => {
      const refused = await send({ as: own(), headers: { 'x-portal-access-code': null } })
      expect(refused).toEqual([403, 'ACCESS.PORTAL_MISMATCH'])
    })

  if (policy.caller === 'account') {
    test(`${id} 401 ACCESS.TOKEN_MISSING: without a token`, async () => {
      const [status, code] = await send()
      // The chain of users/self has numeric codes.
      expect([status, code === '4010' ? 'ACCESS.TOKEN_MISSING' : code]).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    })

    if (isPortal(chain))
      test(`${id} 401 ACCESS.TOKEN_INVALID: with a token of the other portal`, async () => {
        const as = chain.portal === 'SYSTEM' ? signed().owner : signed().operator
        expect(await send({ as, headers: known })).toEqual([401, 'ACCESS.TOKEN_INVALID'])
      })
  }

  if (policy.workspace === 'required' && isPortal(chain))
    test(`${id} 400 ACCESS.WORKSPACE_REQUIRED: without X-Workspace-Id`, async () => {
      expect(await send({ as: own() })).toEqual([400, 'ACCESS.WORKSPACE_REQUIRED'])
    })

  const { permission } = policy
  if (permission !== null && policy.workspace !== 'none' && isPortal(chain) && !memberHas(permission))
    test(`${id} 403 ACCESS.PERMISSION_DENIED: for a member without ${permission}`, async () => {
      expect(await send({ as: signed().member, headers: known })).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    })

  if (policy.idempotent)
    test(`${id} 400 VALIDATION.INVALID_PARAMETER: without X-Request-Id`, async () => {
      const [status] = await send({ as: own(), headers: { ...known, 'x-request-id': null } })
      expect(status).toEqual(400)
    })

  if (chain.perimeter !== 'machine' && body !== 'multipart' && !observedErrors.has(id))
    test(`${id} 400 VALIDATION.INVALID_PARAMETER: with an unknown query parameter`, async () => {
      const [status] = await send({ as: own(), headers: known, query: '?portico_testing=1' })
      expect(status).toEqual(400)
    })

  if (hasJsonBody(operation) && chain.perimeter !== 'machine') {
    test(`${id} 400: with a body that is not JSON, and with an unknown field`, async () => {
      for (const invalid of ['{', '{"porticoTesting":1}']) {
        const [status] = await send({ as: own(), headers: known, body: invalid })
        expect(status, invalid).toEqual(400)
      }
    })
  }

  const hasIds = pathParamNames(operation.path).length > 0 && !operation.params
  const refusesUnknown = operation.refuses.includes('RESOURCE.NOT_FOUND')
  if (hasIds && refusesUnknown && body === 'none' && chain.perimeter !== 'machine')
    test(`${id}: an unknown id is refused with a declared code`, async () => {
      const [, code] = await send({ as: own(), headers: known })
      expect(listRefusals(operation, chainId)).toContain(code)
    })

  test(`${id} is in the OpenAPI document with its refusals, and in the typed client as ${name}`, async () => {
    const { paths } = Document.parse(await (await fetch(`${gateway().url}/openapi.json`)).json())
    const entry = paths[chain.prefix + operation.path]?.[method.toLowerCase()] ?? {}
    const statuses = Object.keys(z.record(z.string(), z.unknown()).parse(entry.responses ?? {}))
    for (const code of operation.refuses)
      if (code in pipelineCodes) expect(statuses, code).toContain(String(statusOf(code)))
    expect(entry.summary).toEqual(operation.summary)
    const portal: Portal = chain.portal === 'SYSTEM' ? 'SYSTEM' : 'CONSUMER'
    if (chain.perimeter !== 'machine') expect(Object.keys(gateway().clientOf(portal))).toContain(name)
  })
}

const codes: Readonly<Record<string, { readonly status: number }>> = pipelineCodes
const statusOf = (code: string): number | undefined => codes[code]?.status

/**
 * Registers the tests that the policies of `domains` imply, for each operation on each of its chains: perimeter, tokens,
 * workspace, permissions of a member, validation, unknown ids, OpenAPI and typed client. The gateway also has Portico's own
 * domains. Pass the functions of vitest: `promises([loans], vitest)`. Each test names its operation and its guarantee.
 */
export const promises = (domains: readonly Domain[], functions: TestFunctions, settings: object = {}): void => {
  const { describe, beforeAll, afterAll } = functions
  const added = domains.filter((domain) => !bankingDomains.includes(domain))
  describe('the promises of the policies', () => {
    let gateway: TestPortico<readonly object[]> | undefined
    let signed: Signed | undefined
    const required = <T>(value: T | undefined): T => {
      if (value === undefined) throw new Error('the gateway has not started')
      return value
    }
    beforeAll(async () => {
      const contract = added.map(({ operations }) => operations)
      gateway = await startPortico({ domains: [...bankingDomains, ...added], settings, contract })
      const credentials = async (client: { session: { tokens(): Promise<Credentials | null> } }) => {
        const tokens = await client.session.tokens()
        if (!tokens) throw new Error('the sign-in has no tokens')
        return tokens
      }
      signed = {
        owner: await credentials(await gateway.signInConsumer('owner@demo.test')),
        member: await credentials(await gateway.signInConsumer('member@demo.test')),
        operator: await credentials(await gateway.signInOperator('operator@demo.test')),
      }
    })
    afterAll(async () => {
      await gateway?.stop()
    })
    for (const domain of domains)
      describe(domain.name, () => {
        for (const [name, operation] of operationsIn(domain.operations))
          for (const chainId of operation.chains)
            describe(chainId, () => {
              promiseOperation(
                { name, operation, chainId, chain: chains[chainId] },
                functions,
                () => required(gateway),
                () => required(signed),
              )
            })
      })
  })
}
