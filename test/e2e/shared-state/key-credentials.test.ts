import { X509Certificate } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { selfSigned } from '../../harness/certificate.ts'
import type { Answer } from '../../harness/http.ts'
import { send } from '../../harness/http.ts'
import { data, newcomer } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { assertionOf, type SignedClaims, type SigningPair, signingPair } from '../../harness/proofs.ts'
import { signIn } from '../../harness/sign-in.ts'

const header = 'x-client-cert'
const { cert } = selfSigned(mkdtempSync(join(tmpdir(), 'portico-certificate-')), 'DNS:client')
const hex = new X509Certificate(cert).fingerprint256.replaceAll(':', '')
const certificateThumbprint = Buffer.from(hex, 'hex').toString('base64url')
const invalid = [401, 'ACCESS.TOKEN_INVALID']

function outcomeOf({ status, body }: Answer) {
  return [status, body.code]
}

describe('API keys without a secret', needsStore(), () => {
  let portico: Portico
  let at: Awaited<ReturnType<typeof newcomer>>
  let workspace: string
  let pair: SigningPair
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.edge.clientCertificate = { header, format: 'sha256Hex' }
      },
    })
    at = await newcomer(portico)
    workspace = data(await at.by.get('/workspaces/current', at.token)).bizId
    pair = await signingPair()
  })
  afterAll(() => portico?.stop())

  const headers = () => ({ 'x-workspace-id': workspace })
  let serial = 0
  const post = (path: string, body: object) => at.by.post(path, body, at.token, headers())
  const request = (credential: object) =>
    post('/api-keys', { apiKeyName: `Key ${++serial}`, permissionCodes: ['wallet:read'], ...credential })
  const create = async (credential: object) => data(await request(credential))
  const path = '/api/v1/consumer/wallets'
  const call = (token: string, more: Record<string, string> = {}, url = portico.url): Promise<Answer> =>
    send(url, 'GET', path, { headers: { authorization: `Bearer ${token}`, 'cf-connecting-ip': at.by.ip, ...more } })
  const sign = (prefix: string, signed: SignedClaims = {}, by = pair) => {
    const audience = portico.settings.publicUrl.replace(/\/$/, '')
    return assertionOf(by, { prefix, audience, method: 'GET', url: audience + path }, signed)
  }

  test('apiKeys.create 200: a key with a public key has no secret, and its thumbprint is in the list', async () => {
    const key = await create({ publicKey: pair.publicKey })
    expect(key).toMatchObject({ secret: null, credential: { code: 'JWT' } })
    expect(key.keyLast4).toBe(key.credentialThumbprint.slice(-4))
    const { items } = data(await at.by.get('/api-keys', at.token, headers()))
    const { credential, credentialThumbprint } = key
    expect(items).toContainEqual(expect.objectContaining({ bizId: key.bizId, credential, credentialThumbprint }))
    const { accessToken: operator } = await signIn(portico, 'operator@demo.test')
    const audited = await portico.call('GET', `/web/v1/system/audit-log?targetId=${key.bizId}`, { token: operator })
    expect(data(audited).items).toMatchObject([
      { action: 'apiKeys.create', detail: { credential: 'JWT', thumbprint: credentialThumbprint } },
    ])
  })

  test('apiKeys.create 400: names the member of an invalid public key, and a second credential', async () => {
    const { x: _, ...withoutX } = pair.publicKey
    const weak = await signingPair('RS256', { modulusLength: 2_048 })
    const cases: [object, string][] = [
      [{ publicKey: { ...pair.publicKey, d: 'secret' } }, 'publicKey'],
      [{ publicKey: withoutX }, 'publicKey.x'],
      [{ publicKey: { ...pair.publicKey, alg: 'RS256' } }, 'publicKey.alg'],
      [{ publicKey: { ...weak.publicKey, n: weak.publicKey.n?.slice(0, 172) } }, 'publicKey.n'],
      [{ publicKey: pair.publicKey, certificateThumbprint }, 'certificateThumbprint'],
      [{ certificateThumbprint: hex }, 'certificateThumbprint'],
    ]
    for (const [credential, field] of cases) {
      const answer = await request(credential)
      expect(outcomeOf(answer)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
      expect(answer.headers.get('x-portico-fields'), field).toContain(field)
    }
  })

  test('wallets.list 200 with an assertion, once on all replicas', async () => {
    const { keyPrefix, bizId } = await create({ publicKey: pair.publicKey })
    const assertion = await sign(keyPrefix)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => call(assertion, {}, portico.urls[index % portico.urls.length])),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(401)])
    expect((await call(await sign(keyPrefix))).status).toBe(200)
    await expect
      .poll(async () => data(await at.by.get(`/api-keys/${bizId}`, at.token, headers())).lastUsedIp)
      .toBe(at.by.ip)
  })

  test('wallets.list 401 ACCESS.TOKEN_INVALID: an assertion for another request, or of another key', async () => {
    const { keyPrefix } = await create({ publicKey: pair.publicKey })
    const stranger = await signingPair()
    const other = await create({ publicKey: stranger.publicKey })
    const assertions = [
      await sign(keyPrefix, { claims: { htm: 'POST' } }),
      await sign(keyPrefix, { claims: { htu: `https://evil.example${path}` } }),
      await sign(keyPrefix, { claims: { aud: 'https://evil.example' } }),
      await sign(keyPrefix, { at: Date.now() - 80_000 }),
      await sign(keyPrefix, {}, stranger),
      await sign(other.keyPrefix),
      await sign(keyPrefix, { claims: { pad: 'x'.repeat(6_000) } }),
    ]
    for (const assertion of assertions) expect(outcomeOf(await call(assertion))).toEqual(invalid)
    // Host comes from the client, and must not decide which URL a proof may have.
    const forged = await sign(keyPrefix, { claims: { htu: `http://evil.example${path}` } })
    expect(outcomeOf(await call(forged, { host: 'evil.example', 'x-forwarded-host': 'evil.example' }))).toEqual(invalid)
    expect(outcomeOf(await call(keyPrefix))).toEqual(invalid)
  })

  test('wallets.list 401 ACCESS.TOKEN_INVALID: a key that was disabled', async () => {
    const { keyPrefix, bizId } = await create({ publicKey: pair.publicKey })
    data(await post('/api-keys/disable', { apiKeyBizId: bizId }))
    expect(outcomeOf(await call(await sign(keyPrefix)))).toEqual(invalid)
  })

  test('wallets.list 200 with the client certificate of the key only', async () => {
    const key = await create({ certificateThumbprint })
    expect(key).toMatchObject({
      secret: null,
      credential: { code: 'TLS' },
      credentialThumbprint: certificateThumbprint,
    })
    expect((await call(key.keyPrefix, { [header]: hex })).status).toBe(200)
    const another = '0'.repeat(64)
    for (const certificate of ['', another, `${hex},${hex}`])
      expect(outcomeOf(await call(key.keyPrefix, { [header]: certificate })), certificate).toEqual(invalid)
    expect(outcomeOf(await call(key.keyPrefix))).toEqual(invalid)
    expect(outcomeOf(await call(`${key.keyPrefix}_${'A'.repeat(43)}`, { [header]: hex }))).toEqual(invalid)
    const secret = await create({})
    expect(outcomeOf(await call(secret.keyPrefix, { [header]: hex }))).toEqual(invalid)
    expect((await call(secret.secret, { [header]: another })).status).toBe(200)
  })
})

describe('a client certificate from a peer that is not a trusted proxy', needsStore('embedded'), () => {
  test('wallets.list 401 ACCESS.TOKEN_INVALID: its header is ignored', async () => {
    const portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.edge = {
          kind: 'direct',
          trustedProxies: [],
          clientCertificate: { header, format: 'sha256Hex' },
        }
      },
    })
    try {
      const { accessToken: token } = await signIn(portico)
      const wallets = await portico.call('GET', '/web/v1/consumer/wallets', { token })
      const [{ workspaceBizId: workspace }] = data(wallets)
      const body = { apiKeyName: 'Bound', permissionCodes: ['wallet:read'], certificateThumbprint }
      const key = data(await portico.call('POST', '/web/v1/consumer/api-keys', { token, workspace, body }))
      const answer = await portico.call('GET', '/api/v1/consumer/wallets', {
        token: key.keyPrefix,
        headers: { [header]: hex },
      })
      expect(outcomeOf(answer)).toEqual(invalid)
    } finally {
      await portico.stop()
    }
  })
})
