import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { servicePipeline } from '../../../src/app.ts'
import { type Backend, callAssertionStage } from '../../../src/backends/index.ts'
import { catalogue } from '../../../src/contract/index.ts'
import { runStages } from '../../../src/gateway/pipeline/call.ts'
import { OpenStreams } from '../../../src/gateway/pipeline/open-streams.ts'
import { toInstant } from '../../../src/kernel/index.ts'
import { systemClock, systemDurations } from '../../../src/platform/runtime/index.ts'
import { arrivedCall, headersOf } from '../../harness/call.ts'
import { testSettings } from '../../harness/settings.ts'

const account = '01990000-0000-7000-8000-000000000001'
const workspace = { id: '01990000-0000-7000-8000-000000000002', isOwner: false, permissions: ['wallet:read'] }

/** Claims that differ from the gateway's. */
interface Said {
  typ?: string
  issuer?: string
  audience?: string
  times?: 'no beginning' | 'no end'
  key?: 'not named'
  /** The key is one of the gateway's. */
  alg?: 'ES256'
  spelled?: (token: string) => string
}

describe('the pipeline of a domain service', () => {
  let jwks: Server
  let keys: string
  let published: string | null
  let pipeline: ReturnType<typeof servicePipeline>
  let sign: (claims: JWTPayload, kid: string, overrides?: Said) => Promise<string>
  let served: string[] = []

  beforeAll(async () => {
    const { privateKey, publicKey } = await generateKeyPair('EdDSA')
    const other = await generateKeyPair('ES256')
    const several = [
      { ...(await exportJWK(publicKey)), kid: 'one', alg: 'EdDSA' },
      { ...(await exportJWK(other.publicKey)), kid: 'ES256', alg: 'ES256' },
      { ...(await exportJWK((await generateKeyPair('EdDSA')).publicKey)), kid: 'next', alg: 'EdDSA' },
    ]
    keys = JSON.stringify({ keys: several })
    jwks = createServer((_, response) => {
      response.writeHead(published === null ? 503 : 200).end(published)
    }).listen(0, '127.0.0.1')
    await once(jwks, 'listening')
    const address = jwks.address()
    if (typeof address !== 'object' || address === null) throw new Error('no port')
    const settings = testSettings({})
    const backend: Backend = {
      handle: async ({ operation }) => {
        served.push(operation.id)
        return []
      },
      replyError: (internal) => {
        throw new Error(internal)
      },
      maxReplyBytes: () => 1_024,
    }
    const asserted = { issuer: 'portico', audience: 'domains', type: 'portico-call+jwt' }
    pipeline = servicePipeline({
      settings,
      tracing: null,
      streams: new OpenStreams({
        settings: settings.streams,
        addressKey: (address) => address,
        durations: systemDurations,
        metrics: { changeOpen: () => undefined, countEnd: () => undefined, countRefused: () => undefined },
      }),
      durations: systemDurations,
      backends: { backendOf: () => backend },
      callAssertion: callAssertionStage(
        { ...asserted, jwksUrl: `http://127.0.0.1:${address.port}/`, clockSkewMs: 0 },
        systemClock,
      ),
    })
    sign = (claims, kid, overrides = {}) => {
      const { typ = asserted.type, issuer = asserted.issuer, audience = asserted.audience, times, key, alg } = overrides
      const token = new SignJWT(claims)
        .setProtectedHeader({ alg: alg ?? 'EdDSA', ...(!key && { kid: alg ?? kid }), typ })
        .setIssuer(issuer)
        .setAudience(audience)
      if (times !== 'no beginning') token.setIssuedAt()
      if (times !== 'no end') token.setExpirationTime('1m')
      return token.sign(alg ? other.privateKey : privateKey)
    }
  })
  afterAll(() => void jwks?.close())
  beforeEach(() => {
    served = []
    published = keys
  })

  const callOperation = async (
    id: string,
    claims: JWTPayload,
    kid = 'one',
    extra = {},
    overrides: Said = {},
    params = {},
  ): Promise<void> => {
    const operation = catalogue.find((each) => each.id === id)
    if (!operation) throw new Error(id)
    const [chainId] = operation.chains
    const token = overrides.spelled?.(await sign(claims, kid, overrides)) ?? (await sign(claims, kid, overrides))
    const headers = headersOf({ authorization: `Bearer ${token}`, 'x-request-id': 'one', ...extra })
    const call = arrivedCall(operation, { chainId, headers, params, receivedAt: toInstant(Date.now()) })
    await runStages(Object.values(pipeline), call)
  }

  test("503 SYSTEM.UNAVAILABLE while the gateway's keys cannot be fetched", async () => {
    const claims = { portal: 'CONSUMER', sub: account, workspace }
    published = null
    await expect(callOperation('wallets.list', claims)).rejects.toMatchObject({ code: 'SYSTEM.UNAVAILABLE' })
    published = keys
    await callOperation('wallets.list', claims)
    expect(served).toEqual(['wallets.list'])
  })

  test('a user agent that is not percent-encoded causes no error', async () => {
    const claims = { portal: 'CONSUMER', sub: account, workspace }
    await callOperation('wallets.list', claims, 'one', { 'x-client-user-agent': '100%' })
    expect(served).toEqual(['wallets.list'])
  })

  test('401 ACCESS.TOKEN_INVALID for an unknown key', async () => {
    const result = callOperation('wallets.list', { portal: 'CONSUMER', sub: account, workspace }, 'two')
    await expect(result).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
    expect(served).toEqual([])
  })

  test.each<Said>([
    { typ: 'at+jwt' },
    { issuer: 'another gateway' },
    { audience: 'another service' },
    { times: 'no end' },
    { times: 'no beginning' },
    { key: 'not named' },
    { alg: 'ES256' },
  ])(
    '401 ACCESS.TOKEN_INVALID for a gateway token that is not a call assertion for this service: %j',
    async (overrides) => {
      const claims = { portal: 'CONSUMER', sub: account, workspace }
      const result = callOperation('wallets.list', claims, 'one', {}, overrides)
      await expect(result).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
      expect(served).toEqual([])
    },
  )

  test.each<[string, (token: string) => string]>([
    [
      'stray bits in the signature',
      (token) => token.slice(0, -1) + String.fromCharCode(token.charCodeAt(token.length - 1) + 1),
    ],
    ['padding', (token) => `${token}==`],
    ['a suffix', (token) => `${token} more`],
  ])('401 ACCESS.TOKEN_INVALID for a call assertion with %s', async (_name, spelled) => {
    const call = callOperation('wallets.list', { portal: 'CONSUMER', sub: account, workspace }, 'one', {}, { spelled })
    await expect(call).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
    expect(served).toEqual([])
  })

  test('400 VALIDATION.INVALID_PARAMETER for a command without X-Request-Id', async () => {
    const claims = { portal: 'SYSTEM', sub: account, permissions: ['recharge:approve'], steppedUpAt: 1 }
    const result = callOperation('recharges.confirm', claims, 'one', { 'x-request-id': undefined })
    await expect(result).rejects.toMatchObject({
      code: 'VALIDATION.INVALID_PARAMETER',
      detail: { field: 'x-request-id' },
    })
    expect(served).toEqual([])
  })

  test('wallets.read 404 RESOURCE.NOT_FOUND: a malformed path parameter does not reach the handler', async () => {
    const claims = { portal: 'CONSUMER', sub: account, workspace }
    const result = callOperation('wallets.read', claims, 'one', {}, {}, { wallet_id: '../x' })
    await expect(result).rejects.toMatchObject({ code: 'RESOURCE.NOT_FOUND' })
    expect(served).toEqual([])
  })

  test('a call with the asserted permission is served', async () => {
    await callOperation('wallets.list', { portal: 'CONSUMER', sub: account, workspace })
    expect(served).toEqual(['wallets.list'])
  })

  test.each(['transfers.create', 'roles.create', 'workspaces.update'])(
    '403 ACCESS.PERMISSION_DENIED for %s with an assertion without the permission',
    async (id) => {
      const result = callOperation(id, { portal: 'CONSUMER', sub: account, workspace })
      await expect(result).rejects.toMatchObject({ code: 'ACCESS.PERMISSION_DENIED' })
      expect(served).toEqual([])
    },
  )

  test.each([
    ['operators.listAccounts', { portal: 'CONSUMER', sub: account, workspace }],
    ['operators.listAccounts', { portal: 'CONSUMER', sub: account, permissions: ['account:read'] }],
    ['wallets.list', { portal: 'SYSTEM', sub: account, workspace }],
  ])('401 ACCESS.TOKEN_INVALID for %s with an assertion of the other portal', async (id, claims) => {
    await expect(callOperation(id, claims)).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
    expect(served).toEqual([])
  })

  test.each(['profile.update', 'workspaces.create', 'invitations.accept', 'roles.list'])(
    '401 ACCESS.TOKEN_INVALID for %s, which API keys cannot call, with the assertion of one',
    async (id) => {
      const rights = { ...workspace, permissions: ['wallet:read', 'role:read'] }
      const result = callOperation(id, { portal: 'CONSUMER', sub: account, key: account, workspace: rights })
      await expect(result).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
      expect(served).toEqual([])
    },
  )

  test('an API key may call operations of the machine chain', async () => {
    await callOperation('wallets.list', { portal: 'CONSUMER', sub: account, key: account, workspace })
    expect(served).toEqual(['wallets.list'])
  })

  test.each([
    ['profile.read', { portal: 'CONSUMER' }, 'ACCESS.TOKEN_MISSING'],
    ['wallets.list', { portal: 'CONSUMER', workspace }, 'ACCESS.TOKEN_MISSING'],
    ['wallets.list', { portal: 'CONSUMER', sub: account }, 'ACCESS.WORKSPACE_REQUIRED'],
  ])('%s with an assertion without a required fact, %j: %s', async (id, claims, code) => {
    await expect(callOperation(id, claims)).rejects.toMatchObject({ code })
    expect(served).toEqual([])
  })

  test('403 ACCESS.STEP_UP_REQUIRED without an asserted second factor', async () => {
    const rights = { ...workspace, permissions: ['api-key:manage'] }
    const result = callOperation('apiKeys.create', { portal: 'CONSUMER', sub: account, workspace: rights })
    await expect(result).rejects.toMatchObject({ code: 'ACCESS.STEP_UP_REQUIRED' })
    expect(served).toEqual([])
  })
})
