import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiClient, createClient, createSystemApiClient } from '../../src/client/index.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn } from '../harness/sign-in.ts'

const email = 'owner@demo.test'
const password = 'Portico-demo-2026'

describe('a client with a key', () => {
  let portico: Portico
  const sent: Request[] = []
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const baseUrl = () => portico.settings.publicUrl.replace(/\/$/, '')
  /** As an edge, which has another address than the gateway. */
  const throughEdge: typeof fetch = (input, init) => {
    const request = new Request(`${input}`.replace(baseUrl(), portico.url), init)
    sent.push(request)
    return fetch(request.clone())
  }
  const clientWith = (more: { dpop: boolean; now?: () => number }) => {
    const edge = { accessCode: 'consumer-dev', edgeHeaders: true, fetch: throughEdge }
    return createClient({ portal: 'CONSUMER', baseUrl: baseUrl(), ...edge, ...more })
  }
  const code = async () => codeIn((await portico.mailTo(email, 'login-code')).text)
  const authorizations = () => sent.map(({ headers }) => headers.get('authorization')).filter((each) => each !== null)

  test('dpop: true: proves its key at the sign-in, in each call, at a renewal and at the sign-out', async () => {
    sent.length = 0
    const client = clientWith({ dpop: true })
    const { tokenType, accessToken } = await client.signIn({ email, password, code })
    expect(tokenType).toBe('DPoP')
    expect((await client.listWallets()).length).toBeGreaterThan(0)
    expect(await client.session.renew({ accessToken })).not.toMatchObject({ accessToken })
    await client.listTransfers({ query: { pageSize: 1 } })
    await client.signOut()
    expect(authorizations().filter((each) => !each.startsWith('DPoP '))).toEqual([])
    const proofs = sent.map(({ headers }) => headers.get('dpop'))
    expect(new Set(proofs).size).toBe(sent.length)
  })

  test('dpop: true: works with a clock that is wrong by an hour', async () => {
    const client = clientWith({ dpop: true, now: () => Date.now() - 3_600_000 })
    await client.signIn({ email, password, code })
    expect((await client.listWallets()).length).toBeGreaterThan(0)
  })

  test('socketProtocols: carries a proof for the URL of the socket', async () => {
    const client = clientWith({ dpop: true })
    await client.signIn({ email, password, code })
    await expect(client.socketProtocols()).rejects.toThrow(TypeError)
    const protocols = await client.socketProtocols({ url: 'wss://portal.example/web/v1/consumer/prices' })
    expect(protocols.filter((each) => /dpop/i.test(each))).toHaveLength(1)
  })

  test('dpop: false: sends bearer tokens without a proof', async () => {
    sent.length = 0
    const client = clientWith({ dpop: false })
    expect((await client.signIn({ email, password, code })).tokenType).toBe('Bearer')
    await client.listWallets()
    expect(authorizations().every((each) => each.startsWith('Bearer '))).toBe(true)
    expect(sent.some(({ headers }) => headers.has('dpop'))).toBe(false)
  })

  test.each([
    ['P-256', { name: 'ECDSA', namedCurve: 'P-256' }],
    ['Ed25519', { name: 'Ed25519' }],
    ['RSA-PSS', { name: 'RSA-PSS', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }],
    [
      'RS256',
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    ],
  ])('createApiClient: signs each request with the private key of an API key: %s', async (name, algorithm) => {
    const generated = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
    const { privateKey, publicKey } = 'privateKey' in generated ? generated : expect.fail()
    const { kty, crv, x, y, n, e } = await crypto.subtle.exportKey('jwk', publicKey)
    const owner = clientOf(portico, 'CONSUMER')
    await signInAs(portico, owner, email)
    const [{ workspaceBizId: workspaceId } = { workspaceBizId: '' }] = await owner.listWallets()
    const jwk = JSON.parse(JSON.stringify({ kty, crv, x, y, n, e }))
    const body = { apiKeyName: `Signer ${name}`, permissionCodes: ['wallet:read' as const], publicKey: jwk }
    const { keyPrefix, secret, bizId } = await owner.createApiKey({ workspaceId, body })
    expect(secret).toBeNull()
    const machine = createApiClient({ baseUrl: baseUrl(), apiKey: { keyPrefix, privateKey }, fetch: throughEdge })
    expect((await machine.listWallets()).length).toBeGreaterThan(0)
    expect((await machine.listWallets()).length).toBeGreaterThan(0)
    await owner.deleteApiKey({ workspaceId, body: { apiKeyBizId: bizId } })
    await expect(machine.listWallets()).rejects.toMatchObject({ code: 'ACCESS.TOKEN_INVALID' })
  })

  test('createSystemApiClient: signs as a key of operators', async () => {
    const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify'])
    const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', pair.publicKey)
    const [operator, checker] = [clientOf(portico, 'SYSTEM'), clientOf(portico, 'SYSTEM')]
    await signInAs(portico, operator, 'operator@demo.test')
    await signInAs(portico, checker, 'checker@demo.test')
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
    const publicKey = JSON.parse(JSON.stringify({ kty, crv, x, y }))
    const body = { apiKeyName: 'SIEM', permissionCodes: ['audit:read' as const], expiresAt, publicKey }
    const { bizId, keyPrefix } = await operator.createOperatorApiKey({ body })
    await checker.enableOperatorApiKey({ params: { api_key_id: bizId }, body: { reason: 'test' } })
    const apiKey = { keyPrefix, privateKey: pair.privateKey }
    const machine = createSystemApiClient({ baseUrl: baseUrl(), apiKey, fetch: throughEdge })
    expect((await machine.listAuditLog({ query: { pageSize: 1 } })).items).toHaveLength(1)
  })
})
