import { CompactEncrypt, compactDecrypt, exportSPKI, generateKeyPair } from 'jose'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { wrapSessionKey } from '../../../src/client/channel/handshake.ts'
import { decryptJwe, encryptJwe, importSessionKey } from '../../../src/client/channel/jwe.ts'
import type { HttpExchange } from '../../../src/client/index.ts'
import { begun, consumer, pair, wallet } from '../fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

function bytes(size: number) {
  return crypto.getRandomValues(new Uint8Array(size))
}
const utf8 = new TextEncoder()
function text(plain: Uint8Array): string {
  return new TextDecoder().decode(plain)
}

let keys: Awaited<ReturnType<typeof generateKeyPair>>
let spki: string
beforeAll(async () => {
  keys = await generateKeyPair('RSA-OAEP-256', { extractable: true })
  spki = (await exportSPKI(keys.publicKey)).replaceAll(/-----[^-]+-----|\s/g, '')
})

describe('WebCrypto and jose', () => {
  const header = { alg: 'dir', enc: 'A256GCM', kid: 'session', seq: 1, htm: 'POST', htu: '/a' }

  it.each([0, 1, 400, 100_000])('jose opens our payloads, and we open those of jose: %i bytes', async (size) => {
    const raw = bytes(32)
    const key = await importSessionKey(raw)
    const message = 'ü€😀'.repeat(Math.ceil(size / 9)).slice(0, size)
    const ours = await compactDecrypt(await encryptJwe(header, key, message), raw)
    expect([text(ours.plaintext), ours.protectedHeader]).toEqual([message.toWellFormed(), header])
    const theirs = await new CompactEncrypt(utf8.encode(message)).setProtectedHeader({ ...header }).encrypt(raw)
    expect(await decryptJwe(theirs, key)).toEqual({ header, text: message.toWellFormed() })
  })

  it('we reject every manipulated payload', async () => {
    const key = await importSessionKey(bytes(32))
    const parts = (await encryptJwe(header, key, 'secret')).split('.')
    for (const at of [0, 2, 3, 4]) {
      const other = parts.map((part, place) =>
        place === at ? (part.startsWith('A') ? 'B' : 'A') + part.slice(1) : part,
      )
      await expect(decryptJwe(other.join('.'), key)).rejects.toThrow()
    }
    await expect(decryptJwe([...parts, 'A'].join('.'), key)).rejects.toThrow()
    await expect(decryptJwe('', key)).rejects.toThrow()
  })

  it('jose opens the handshake', async () => {
    const { payload, key } = await wrapSessionKey({
      keyId: 'k1',
      publicKey: spki,
      clientHash: 'hash',
      iat: 1_750_000_000,
    })
    const { plaintext, protectedHeader } = await compactDecrypt(payload, keys.privateKey)
    expect(protectedHeader).toEqual({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: 'k1' })
    const proposal = JSON.parse(text(plaintext))
    expect(proposal).toEqual({ key: expect.stringMatching(/^[\w-]{43}$/), clientHash: 'hash', iat: 1_750_000_000 })
    const theirs = await new CompactEncrypt(utf8.encode('x'))
      .setProtectedHeader(header)
      .encrypt(Buffer.from(proposal.key, 'base64url'))
    expect((await decryptJwe(theirs, key)).text).toBe('x')
  })
})

/** Implemented with jose. */
function channelSteps(expiresIn = 600) {
  const sessions = new Map<string, Uint8Array>()
  const proposals: { clientHash: string; iat: number }[] = []
  const offered = {
    keyId: 'k1',
    publicKey: spki,
    algorithm: 'RSA-OAEP-2048',
    keySize: 2048,
    createdAt: '2026-01-01T00:00:00.000000000Z',
    expiresAt: null,
  }
  const publicKey = ok(offered)
  const open: Step = async (seen, response) => {
    const body = seen.body as { payload: string }
    const proposal = JSON.parse(text((await compactDecrypt(body.payload, keys.privateKey)).plaintext))
    proposals.push(proposal)
    const sessionId = `session-${sessions.size + 1}`
    sessions.set(sessionId, Buffer.from(proposal.key, 'base64url'))
    const at = new Date().toISOString()
    await ok({ sessionId, algorithm: 'A256GCM', expiresIn, createdAt: at, expiresAt: at })(seen, response)
  }
  const opened: { header: unknown; body: unknown }[] = []
  /** `reseal` can corrupt the header of the reply. */
  const sealed =
    (data: unknown, reseal: (header: Record<string, unknown>) => Record<string, unknown> = (header) => header): Step =>
    async (seen, response) => {
      const sessionId = String(seen.headers['x-secure-channel-session-id'])
      const key = sessions.get(sessionId)
      if (!key) return refuse(400, 'SECURE_CHANNEL.INVALID_PAYLOAD')(seen, response)
      let seq: unknown
      if (seen.body) {
        const { plaintext, protectedHeader } = await compactDecrypt((seen.body as { payload: string }).payload, key)
        opened.push({ header: protectedHeader, body: JSON.parse(text(plaintext)) })
        seq = protectedHeader.seq
      }
      const rid = seen.headers['x-request-id']
      const bound = { alg: 'dir', enc: 'A256GCM', kid: sessionId, msg: 'reply', rid }
      const header = { ...bound, ...(seq === undefined ? {} : { seq }) }
      const payload = await new CompactEncrypt(utf8.encode(JSON.stringify(data)))
        .setProtectedHeader(reseal(header) as { alg: string; enc: string })
        .encrypt(key)
      await ok({ payload })(seen, response)
    }
  const script = {
    'GET /web/v1/consumer/secure-channel/public-key': publicKey,
    'POST /web/v1/consumer/secure-channel/session': open,
    'POST /web/v1/consumer/secure-channel/session/close': ok(null),
  }
  return { script, sealed, opened, sessions, proposals, offered }
}

describe("a client's channel", () => {
  const initiate = 'POST /web/v1/consumer/auth/login/initiate'
  const refresh = 'POST /web/v1/consumer/auth/token/refresh'
  const wallets = 'GET /web/v1/consumer/wallets'
  const body = { email: 'owner@demo.test', password: 'Portico-demo-2026' }
  let gateway: ScriptedGateway
  afterEach(() => gateway.close())

  it('opens with the first sealed call and serves all of them', async () => {
    const { script, sealed, opened, proposals } = channelSteps()
    gateway = await scriptedGateway({ ...script, [initiate]: sealed(begun), [wallets]: sealed([wallet]) })
    const client = consumer(gateway.baseUrl, { seal: 'sensitive' })
    const calls = Array.from({ length: 3 }, () => client.initiateLogin({ body }))
    expect(await Promise.all(calls)).toEqual([begun, begun, begun])
    expect(await client.listWallets({ seal: true })).toEqual([wallet])
    expect(gateway.to('/public-key')).toHaveLength(1)
    expect(gateway.to('/session')).toHaveLength(1)
    expect(proposals).toEqual([
      { key: expect.any(String), clientHash: await client.clientHash(), iat: expect.any(Number) },
    ])
    expect(opened.map((each) => each.body)).toEqual([body, body, body])
    const numbers = opened.map(({ header }) => (header as { seq: number }).seq)
    expect(numbers.toSorted()).toEqual([1, 2, 3])
    expect(opened[0]?.header).toMatchObject({
      kid: 'session-1',
      htm: 'POST',
      htu: '/web/v1/consumer/auth/login/initiate',
    })
    expect(gateway.to('/initiate')[0]?.headers).toMatchObject({ 'x-secure-channel-reply': 'encrypted' })
    expect(gateway.to('/wallets')[0]?.body).toBeUndefined()
    expect(JSON.stringify(gateway.seen)).not.toContain(body.password)
  })

  it('seals sensitive calls, all calls, or none', async () => {
    const { script, sealed } = channelSteps()
    const clear: Step = (seen, response) =>
      (seen.headers['x-secure-channel-session-id'] ? sealed([wallet]) : ok([wallet]))(seen, response)
    gateway = await scriptedGateway({
      ...script,
      [initiate]: ok(begun),
      [refresh]: sealed(pair('2')),
      [wallets]: clear,
    })
    await consumer(gateway.baseUrl, { seal: 'none' }).initiateLogin({ body })
    await consumer(gateway.baseUrl, { seal: 'sensitive' }).initiateLogin({ body, seal: false })
    expect(gateway.to('/session')).toHaveLength(0)
    await consumer(gateway.baseUrl, { seal: 'sensitive' }).listWallets()
    expect(gateway.to('/session')).toHaveLength(0)
    await consumer(gateway.baseUrl, { seal: 'all' }).listWallets()
    expect(gateway.to('/session')).toHaveLength(1)
    await consumer(gateway.baseUrl, { seal: 'sensitive' }).refreshToken({ body: { refreshToken: 'x' } })
    expect(gateway.to('/session')).toHaveLength(2)
  })

  it('is reopened once if the gateway has lost it', async () => {
    const { script, sealed, sessions } = channelSteps()
    gateway = await scriptedGateway({ ...script, [initiate]: sealed(begun) })
    const client = consumer(gateway.baseUrl, { seal: 'sensitive' })
    await client.initiateLogin({ body })
    sessions.clear()
    sessions.set('taken', bytes(32))
    await Promise.all([client.initiateLogin({ body }), client.initiateLogin({ body })])
    expect(gateway.to('/session')).toHaveLength(2)
  })

  it('overrides the channel headers of a call; onExchange reports that it was sealed', async () => {
    const { script, sealed } = channelSteps()
    gateway = await scriptedGateway({ ...script, [initiate]: sealed(begun) })
    const watched: HttpExchange[] = []
    const client = consumer(gateway.baseUrl, { seal: 'sensitive', onExchange: (exchange) => watched.push(exchange) })
    const headers = { 'X-Secure-Channel-Session-Id': 'another', 'x-secure-channel-reply': 'plain' }
    expect(await client.initiateLogin({ body, headers })).toEqual(begun)
    expect(watched.at(-1)).toMatchObject({ sealed: true, request: body, reply: { data: begun } })
  })

  it('is reopened in the same call that renews its token', async () => {
    const { script, sealed } = channelSteps()
    const steps = [refuse(401, 'ACCESS.TOKEN_INVALID'), refuse(400, 'SECURE_CHANNEL.INVALID_PAYLOAD'), sealed([wallet])]
    gateway = await scriptedGateway({ ...script, [wallets]: steps, [refresh]: sealed(pair('2')) })
    const client = consumer(gateway.baseUrl, { seal: 'all' })
    await client.session.adopt(pair('1'))
    expect(await client.listWallets()).toEqual([wallet])
    expect(gateway.to('/refresh')).toHaveLength(1)
    expect(gateway.to('/session')).toHaveLength(2)
  })

  it('stays open after any other refusal, and the refused call is not repeated', async () => {
    const { script, sealed } = channelSteps()
    gateway = await scriptedGateway({ ...script, [initiate]: [refuse(401, 'AUTH.INVALID_CREDENTIALS'), sealed(begun)] })
    const client = consumer(gateway.baseUrl, { seal: 'sensitive' })
    await expect(client.initiateLogin({ body })).rejects.toHaveProperty('code', 'AUTH.INVALID_CREDENTIALS')
    expect(gateway.to('/initiate')).toHaveLength(1)
    await client.initiateLogin({ body })
    expect(gateway.to('/session')).toHaveLength(1)
  })

  it('is reopened only once per call', async () => {
    const { script } = channelSteps()
    gateway = await scriptedGateway({ ...script, [initiate]: refuse(400, 'SECURE_CHANNEL.INVALID_PAYLOAD') })
    const call = consumer(gateway.baseUrl, { seal: 'sensitive' }).initiateLogin({ body })
    await expect(call).rejects.toHaveProperty('code', 'SECURE_CHANNEL.INVALID_PAYLOAD')
    expect(gateway.to('/session')).toHaveLength(2)
  })

  it('is reopened after its expiry, and a failed opening is not cached', async () => {
    const { script, sealed } = channelSteps(60)
    const open = script['POST /web/v1/consumer/secure-channel/session']
    const steps = [refuse(503, 'SYSTEM.UNAVAILABLE'), open]
    gateway = await scriptedGateway({
      ...script,
      'POST /web/v1/consumer/secure-channel/session': steps,
      [initiate]: sealed(begun),
    })
    let now = Date.now()
    const client = consumer(gateway.baseUrl, { seal: 'sensitive', now: () => now })
    await expect(client.initiateLogin({ body })).rejects.toHaveProperty('status', 503)
    await client.initiateLogin({ body })
    now += 58_000
    await client.initiateLogin({ body })
    expect(gateway.to('/session')).toHaveLength(3)
  })

  it('rejects a reply that is not sealed or belongs to another request', async () => {
    const { script, sealed } = channelSteps()
    const steps = [
      ok(begun),
      sealed(begun, (header) => ({ ...header, seq: 99 })),
      sealed(begun, (header) => ({ ...header, kid: 'other' })),
      sealed(begun, (header) => ({ ...header, rid: 'other' })),
      sealed(begun, (header) => ({ ...header, msg: 'request' })),
    ]
    gateway = await scriptedGateway({ ...script, [initiate]: steps })
    const client = consumer(gateway.baseUrl, { seal: 'sensitive' })
    for (let round = 0; round < 5; round++)
      await expect(client.initiateLogin({ body })).rejects.toHaveProperty('code', 'CLIENT.INVALID_REPLY')
  })

  it("is opened at the gateway's time, or at the client's if the gateway sends none", async () => {
    const { script, sealed, proposals, offered } = channelSteps()
    const key = 'GET /web/v1/consumer/secure-channel/public-key'
    const untimed: Step = (_, response) =>
      void response.end(JSON.stringify({ success: true, code: '2000', message: 'Success', data: offered }))
    gateway = await scriptedGateway({ ...script, [key]: [script[key], untimed], [initiate]: sealed(begun) })
    const at = Math.floor(Date.now() / 1_000)
    for (let round = 0; round < 2; round++)
      await consumer(gateway.baseUrl, { seal: 'sensitive', now: () => 5_999 }).initiateLogin({ body })
    expect(proposals[0]?.iat).toBeGreaterThanOrEqual(at)
    expect(proposals[1]?.iat).toBe(5)
  })

  it("is closed with the client hash that it is bound to, even if the client's hash has changed", async () => {
    const { script, sealed } = channelSteps()
    gateway = await scriptedGateway({ ...script, [initiate]: sealed(begun) })
    const items = new Map<string, string>()
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    }
    const client = consumer(gateway.baseUrl, { seal: 'sensitive', storage, clientHash: 'own' })
    await client.initiateLogin({ body })
    await consumer(gateway.baseUrl, { storage, clientHash: 'other' }).session.adopt(pair('1'))
    expect(await client.clientHash()).toBe('other')
    await client.close()
    expect(gateway.to('/session/close')[0]?.headers['x-client-hash']).toBe('own')
  })

  it('is closed with its client, only if it is open', async () => {
    const { script, sealed } = channelSteps()
    gateway = await scriptedGateway({ ...script, [initiate]: sealed(begun) })
    const client = consumer(gateway.baseUrl, { seal: 'sensitive' })
    await client.close()
    expect(gateway.seen).toEqual([])
    await client.initiateLogin({ body })
    await client.close()
    expect(gateway.to('/session/close')[0]?.headers['x-secure-channel-session-id']).toBe('session-1')
    await client.close()
    expect(gateway.to('/session/close')).toHaveLength(1)
  })
})
