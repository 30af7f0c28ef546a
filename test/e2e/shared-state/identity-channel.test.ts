import { randomBytes } from 'node:crypto'
import { CompactEncrypt, compactDecrypt, importSPKI } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { client, data, goodPassword, newEmail, refusal, register } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

const initiate = '/auth/login/initiate'
const htu = `/web/v1/consumer${initiate}`
const invalid = [400, 'SECURE_CHANNEL.INVALID_PAYLOAD']

describe('the secure channel', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  const proposal = async (by = client(portico)) => {
    const { keyId, publicKey } = data(await by.get('/secure-channel/public-key'))
    const pem = `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----`
    const key = randomBytes(32)
    const plain = { key: key.toString('base64url'), clientHash: by.hash, iat: Math.floor(Date.now() / 1_000) }
    const payload = await new CompactEncrypt(Buffer.from(JSON.stringify(plain)))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: keyId })
      .encrypt(await importSPKI(pem, 'RSA-OAEP-256'))
    return { by, key: new Uint8Array(key), payload }
  }
  const open = async (prefix = '') => {
    const { by, key, payload } = await proposal()
    const { sessionId } = data(await by.post(`${prefix}/secure-channel/session`, { payload }))
    let seq = 0
    const seal = (body: unknown, header: object = {}) => {
      seq += 1
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return new CompactEncrypt(Buffer.from(text))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: sessionId, seq, htm: 'POST', htu, ...header })
        .encrypt(key)
    }
    const headers = { 'x-secure-channel-session-id': String(sessionId) }
    const post = async (payload: string, more: Record<string, string> = {}) =>
      by.post(initiate, { payload }, undefined, { ...headers, ...more })
    return { by, key, sessionId: String(sessionId), headers, seal, post }
  }

  test.each(['', '/web/v1'])('opens under %s/secure-channel and carries a sign-in and its reply', async (prefix) => {
    const { email } = await register(portico)
    const { key, seal, post } = await open(prefix)
    const response = await post(await seal({ email, password: goodPassword }), {
      'x-secure-channel-reply': 'encrypted',
    })
    const { payload } = data(response)
    const reply = JSON.parse(Buffer.from((await compactDecrypt(payload, key)).plaintext).toString())
    expect(reply).toMatchObject({ sessionId: expect.any(String), pendingApproval: false })
    expect(response.text).not.toContain(reply.sessionId)
  })

  test('secureChannel.open 400 SECURE_CHANNEL.INVALID_PAYLOAD for every other body, also invalid JSON', async () => {
    const bodies = ['', 'null', '[]', '{}', { payload: 5 }, { payload: 'x', more: 1 }, '{"payload":', '{"a":1,"a":2}']
    for (const body of bodies) {
      const response = await portico.call('POST', '/web/v1/consumer/secure-channel/session', { body })
      expect(refusal(response), String(body)).toEqual(invalid)
    }
  })

  test('400 VALIDATION.INVALID_PARAMETER for an opened body that violates the schema', async () => {
    const { seal, post } = await open()
    const bodies = [
      { email: newEmail(), password: 'x', zzz: 1 },
      [1],
      'null',
      '5',
      '{"broken',
      '{"email":"a","email":"b"}',
    ]
    for (const body of bodies)
      expect(refusal(await post(await seal(body)))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
  })

  test('every failure gets the same refusal in the same bytes; 413 for a body above the limit', async () => {
    const [one, two] = [await open(), await open()]
    const body = { email: newEmail(), password: 'x' }
    const used = await one.seal(body)
    await one.post(used)
    const closing = await open()
    const closed = await closing.seal(body)
    expect(
      (await closing.by.post('/secure-channel/session/close', undefined, undefined, closing.headers)).body.data,
    ).toBeNull()
    const responses = [
      await one.post(used),
      await closing.post(closed),
      await one.post(await two.seal(body)),
      await one.post(await one.seal(body, { htu: '/web/v1/consumer/auth/logout' })),
      await one.post(await one.seal(body, { htm: 'GET' })),
      await one.post(`${(await one.seal(body)).slice(0, -3)}AAA`),
      await one.post('x'),
      await one.by.post(initiate, { payload: await one.seal(body) }, undefined, {
        'x-secure-channel-session-id': 'none',
      }),
      await client(portico).post(initiate, { payload: await one.seal(body) }, undefined, one.headers),
    ]
    for (const response of responses) expect(refusal(response)).toEqual(invalid)
    expect(new Set(responses.map(({ text }) => text.replace(/"timestamp":\d+/, ''))).size).toBe(1)
    expect((await one.post(await one.seal({ email: 'x'.repeat(300_000) }))).status).toBe(413)
    // Without a ciphertext, the refusal reveals nothing about the session.
    const plain = await one.by.post(initiate, body, undefined, one.headers)
    expect(refusal(plain)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
  })

  test('secureChannel.close 500 without a session or with empty fields: documented', async () => {
    const close = (headers: Record<string, string>) =>
      client(portico).post('/secure-channel/session/close', undefined, undefined, headers)
    const nothing = { 'x-secure-channel-session-id': '', 'x-sc-session-id': '' }
    for (const headers of [{}, nothing]) expect(refusal(await close(headers))).toEqual([500, 'SYSTEM.INTERNAL_ERROR'])
    const { by, sessionId, seal, post } = await open()
    const named = { 'x-secure-channel-session-id': '', 'x-sc-session-id': sessionId }
    data(await by.post('/secure-channel/session/close', undefined, undefined, named))
    expect(refusal(await post(await seal({ email: newEmail(), password: 'x' })))).toEqual(invalid)
  })

  test('secureChannel.close: only its owner can close a session', async () => {
    const { seal, post, headers } = await open()
    const other = client(portico)
    const response = await other.post('/secure-channel/session/close', undefined, undefined, headers)
    expect([response.status, response.body.data]).toEqual([200, null])
    expect(refusal(await post(await seal({ email: newEmail(), password: 'x' })))).toEqual([
      401,
      'AUTH.INVALID_CREDENTIALS',
    ])
  })
})

describe('the secure channel under production limits', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.limits.scale = 1
        settings.portals.CONSUMER.channelMandatory = ['login']
      },
    })
  })
  afterAll(() => portico?.stop())

  test('secureChannel.open 429 ACCESS.RATE_LIMITED for the 61st opening of an address in a minute', async () => {
    const by = client(portico)
    for (let opening = 0; opening < 60; opening++)
      expect(refusal(await by.post('/secure-channel/session', { payload: 'x' }))).toEqual(invalid)
    const refused = await by.post('/secure-channel/session', { payload: 'x' })
    expect(refusal(refused)).toEqual([429, 'ACCESS.RATE_LIMITED'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('400 for a plain body where the channel is mandatory', async () => {
    const response = await client(portico).post(initiate, { email: 'owner@demo.test', password: 'Portico-demo-2026' })
    expect(refusal(response)).toEqual(invalid)
  })
})

describe('the machine chain, which has no secure channel', needsStore(), () => {
  const { workspace, mainUsd, savingsUsd } = developmentIds
  const path = '/api/v1/consumer/transfer/command/create'
  let portico: Portico
  let secret: string
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.portals.CONSUMER.channelMandatory = ['money']
      },
    })
    const { accessToken: token } = await signIn(portico)
    const body = { apiKeyName: 'Till', permissionCodes: ['transfer:create', 'wallet:read'] }
    secret = data(await portico.call('POST', '/web/v1/consumer/api-keys', { token, workspace, body })).secret
  })
  afterAll(() => portico?.stop())

  test('transfers.create 200: the channel that a portal requires is not required of machines', async () => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '1.00', currency: 'USD' }
    expect((await portico.call('POST', path, { token: secret, body })).status).toBe(200)
  })

  test('secureChannel.publicKey 400 VALIDATION.INVALID_PARAMETER: no sealed reply without a channel', async () => {
    const headers = { 'x-secure-channel-reply': 'encrypted' }
    const response = await portico.call('GET', '/web/v1/secure-channel/public-key', { headers })
    expect([...refusal(response), response.body.message]).toEqual([
      400,
      'VALIDATION.INVALID_PARAMETER',
      'invalid request parameters: x-secure-channel-reply',
    ])
  })

  test.each(['x-secure-channel-session-id', 'x-secure-channel-reply'])(
    'wallets.list 400: %s is rejected, not ignored',
    async (name) => {
      const headers = { [name]: 'encrypted' }
      const response = await portico.call('GET', '/api/v1/consumer/wallets', { token: secret, headers })
      expect(refusal(response)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    },
  )
})
