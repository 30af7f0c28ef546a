import { createPublicKey, randomBytes } from 'node:crypto'
import { CompactEncrypt, compactDecrypt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/identity/secure-channel/contract.ts'
import { addMs, type RequestContext, toInstant } from '../../../src/kernel/index.ts'
import { call, codeOf, createRequestContext, type Harness, harness, refusalOf } from '../harness.ts'

const invalid = 'SECURE_CHANNEL.INVALID_PAYLOAD'
let at: Harness
beforeAll(async () => {
  at = await harness()
})
afterAll(() => at.close())

function publicKey() {
  return call(at.identity, contract.readPublicKey, createRequestContext(at.clock))
}
function open(payload: unknown, more: Partial<RequestContext> = {}) {
  return call(at.identity, contract.openSecureChannel, createRequestContext(at.clock, more), { payload })
}

function openingWith(
  offered: Awaited<ReturnType<typeof publicKey>>,
  key: Uint8Array,
  header: object = {},
  proposal: object = {},
  encode: (text: string) => Uint8Array = (text) => Buffer.from(text),
): Promise<string> {
  const rsa = createPublicKey({ key: Buffer.from(offered.publicKey, 'base64'), format: 'der', type: 'spki' })
  const text = {
    key: Buffer.from(key).toString('base64url'),
    clientHash: 'client-one',
    iat: Math.floor(at.clock.now() / 1_000),
    ...proposal,
  }
  return new CompactEncrypt(encode(JSON.stringify(text)))
    .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: offered.keyId, ...header })
    .encrypt(rsa)
}
type OpeningParts = Parameters<typeof openingWith> extends [unknown, ...infer Rest] ? Rest : never
async function opening(...parts: OpeningParts): Promise<string> {
  return openingWith(await publicKey(), ...parts)
}

async function openSession(more: Partial<RequestContext> = {}) {
  const key = randomBytes(32)
  const { sessionId } = await open(await opening(key, {}, more.clientHash ? { clientHash: more.clientHash } : {}), more)
  return { key, sessionId }
}

interface Session {
  key: Uint8Array
  sessionId: string
}
const target = { htm: 'POST', htu: '/web/v1/consumer/auth/login/initiate' }
function seal({ key, sessionId }: Session, seq: unknown, header: object = {}, text = '{"a":1}'): Promise<string> {
  return new CompactEncrypt(Buffer.from(text))
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: sessionId, seq, ...target, ...header })
    .encrypt(key)
}
/** Undefined if the body is refused. */
async function tryOpen(sessionId: string, payload: string, more = {}) {
  return at.identity.channel.open({
    sessionId,
    portal: 'CONSUMER',
    clientHash: 'client-one',
    requestId: 'request-one',
    method: target.htm,
    path: target.htu,
    payload,
    ...more,
  })
}
async function receive(sessionId: string, payload: string) {
  const body = await tryOpen(sessionId, payload)
  if (!body) throw new Error('the body was refused')
  return body
}

describe('secureChannel.publicKey', () => {
  test('200: returns the same key on every replica, with nanoseconds', async () => {
    const key = await publicKey()
    expect(key).toMatchObject({
      algorithm: 'RSA-OAEP-2048',
      keySize: 2048,
      createdAt: '2026-01-05T12:00:00.000000000Z',
      expiresAt: '2026-01-06T12:00:00.000Z',
    })
    const other = await call(await at.replica(), contract.readPublicKey, createRequestContext(at.clock))
    expect(other).toEqual(key)
  })

  test.each([2_000, 3_600_000])(
    '200: after the clock was set back by %i ms, before the creation of the key',
    async (by) => {
      const other = await harness()
      try {
        other.clock.advance(-by)
        const key = await call(other.identity, contract.readPublicKey, createRequestContext(other.clock))
        expect(Date.parse(key.createdAt)).toBeLessThanOrEqual(other.clock.now())
        expect(await call(other.identity, contract.readPublicKey, createRequestContext(other.clock))).toEqual(key)
      } finally {
        await other.close()
      }
    },
  )
})

describe('secureChannel.open', () => {
  test('200: returns a session of 30 minutes', async () => {
    const reply = await open(await opening(randomBytes(32)))
    expect(reply).toMatchObject({ algorithm: 'A256GCM', expiresIn: 1_800, createdAt: '2026-01-05T12:00:00.000Z' })
    expect(reply.expiresAt).toBe('2026-01-05T12:30:00.000Z')
  })

  test('200 up to 60 s before and after `iat`, refused beyond', async () => {
    const iat = Math.floor(at.clock.now() / 1_000)
    for (const by of [-60, 60]) await open(await opening(randomBytes(32), {}, { iat: iat + by }))
    for (const by of [-61, 61])
      expect(await codeOf(open(await opening(randomBytes(32), {}, { iat: iat + by })))).toBe(invalid)
  })

  test('refuses a malformed proposal', async () => {
    const key = randomBytes(32)
    const proposals = [
      { clientHash: 'thief' },
      { clientHash: null },
      { iat: String(at.clock.now() / 1_000) },
      { iat: null },
      { key: randomBytes(16).toString('base64url') },
      { key: `${key.toString('base64url')}=` },
      { key: key.toString('base64') },
      { extra: 1 },
    ]
    for (const proposal of proposals)
      expect([proposal, await codeOf(open(await opening(key, {}, proposal)))]).toEqual([proposal, invalid])
  })

  test('refuses a proposal with a duplicate name or invalid UTF-8', async () => {
    const twice = (text: string) => Buffer.from(text.replace('{', '{"clientHash":"client-one",'))
    expect(await codeOf(open(await opening(randomBytes(32), {}, {}, twice)))).toBe(invalid)
    const latin = (text: string) => Buffer.from(text.replace('client-one', 'client-\xe9'), 'latin1')
    const payload = await opening(randomBytes(32), {}, {}, latin)
    expect(await codeOf(open(payload, { clientHash: 'client-\ufffd' }))).toBe(invalid)
  })

  test('refuses other algorithms, headers and key ids, and malformed JWEs, with the same code', async () => {
    const good = await opening(randomBytes(32))
    const offered = await publicKey()
    const [, ...rest] = good.split('.')
    const withHeader = (header: object | string): string =>
      [Buffer.from(typeof header === 'string' ? header : JSON.stringify(header)).toString('base64url'), ...rest].join(
        '.',
      )
    const base = { alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: offered.keyId }
    const payloads = [
      await opening(randomBytes(32), { alg: 'RSA-OAEP' }),
      await opening(randomBytes(32), { enc: 'A128CBC-HS256' }),
      await opening(randomBytes(32), { enc: 'A128GCM' }),
      await opening(randomBytes(32), { kid: '../../etc/passwd' }),
      await opening(randomBytes(32), { kid: "' OR 1=1 --" }),
      await opening(randomBytes(32), { kid: '01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10' }),
      await opening(randomBytes(32), { typ: 'JWE' }),
      withHeader({ ...base, zip: 'DEF' }),
      withHeader({ ...base, crit: ['exp'], exp: 1 }),
      withHeader({ ...base, alg: 'dir' }),
      withHeader({ ...base, alg: 'RSA1_5' }),
      withHeader({ ...base, alg: 'PBES2-HS256+A128KW', p2c: 2 ** 31, p2s: 'AAAA' }),
      withHeader({ alg: base.alg, enc: base.enc }),
      withHeader(`{"alg":"RSA-OAEP-256","alg":"RSA-OAEP-256","enc":"A256GCM","kid":"${offered.keyId}"}`),
      withHeader('[]'),
      withHeader('{'),
      '',
      '....',
      'a.b.c.d.e',
      good.slice(0, -1),
      `${good}.`,
      `${good}=`,
      ` ${good}`,
      good.replaceAll('.', '..'),
      'x'.repeat(8_000),
    ]
    for (const payload of payloads) {
      const started = performance.now()
      const refusal = await refusalOf(open(payload))
      expect([payload.slice(0, 40), refusal.code, refusal.detail]).toEqual([payload.slice(0, 40), invalid, {}])
      // A header requests PBKDF2 iterations that would take minutes.
      expect(performance.now() - started).toBeLessThan(20_000)
    }
    await open(good)
  })

  test('refuses a malformed body with the same code', async () => {
    for (const body of [5, null, [], {}, { payload: 5 }, { payload: 'x', extra: 1 }])
      expect(await codeOf(call(at.identity, contract.openSecureChannel, createRequestContext(at.clock), body))).toBe(
        invalid,
      )
  })
})

describe('an encrypted body', () => {
  test('is compatible with jose in both directions', async () => {
    const session = await openSession()
    const { plaintext, seal: reply } = await receive(session.sessionId, await seal(session, 1))
    expect(Buffer.from(plaintext).toString()).toBe('{"a":1}')
    const { plaintext: decrypted, protectedHeader } = await compactDecrypt(reply('{"b":"ü"}'), session.key)
    expect(Buffer.from(decrypted).toString()).toBe('{"b":"ü"}')
    const bound = { alg: 'dir', enc: 'A256GCM', kid: session.sessionId, msg: 'reply', rid: 'request-one' }
    expect(protectedHeader).toEqual({ ...bound, seq: 1 })
    const request = { portal: 'CONSUMER', clientHash: 'client-one', requestId: 'request-two' } as const
    const bare = await at.identity.channel.sealer({ ...session, ...request })
    expect(Buffer.from((await compactDecrypt(bare?.('x') ?? '', session.key)).plaintext).toString()).toBe('x')
  })

  test('is accepted once, in any order within the window of 256, and not below it', async () => {
    const session = await openSession()
    const order = [3, 1, 2, 300, 45, 299]
    for (const seq of order) await receive(session.sessionId, await seal(session, seq))
    for (const seq of [...order, 44, 0, -1]) {
      expect([seq, await tryOpen(session.sessionId, await seal(session, seq))]).toEqual([seq, undefined])
    }
    for (const seq of ['301', 301.5, null, 2 ** 60, true])
      expect(await tryOpen(session.sessionId, await seal(session, seq))).toBeUndefined()
  })

  test('is accepted once when sent twenty times in parallel', async () => {
    const session = await openSession()
    const payload = await seal(session, 1)
    const all = await Promise.all(Array.from({ length: 20 }, () => tryOpen(session.sessionId, payload)))
    expect(all.filter((body) => body)).toHaveLength(1)
  })

  test('of another request or client, or tampered with, is refused and spends no sequence number', async () => {
    const session = await openSession()
    const other = await openSession()
    const payload = await seal(session, 1)
    const [head = '', empty = '', nonce = '', body = '', tag = ''] = payload.split('.')
    const flip = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
    const small = { key: randomBytes(16), sessionId: session.sessionId }
    const attempts: [string, string, object?][] = [
      ['moved to another path', payload, { path: '/web/v1/consumer/auth/logout' }],
      ['moved to another method', payload, { method: 'GET' }],
      ['moved to another portal', payload, { portal: 'SYSTEM' }],
      ['of another client', payload, { clientHash: 'thief' }],
      ['under another session', payload, { sessionId: other.sessionId }],
      ['of another session', await seal(other, 1)],
      ['of another session, naming this one', await seal({ ...other, sessionId: session.sessionId }, 1)],
      ['of an unknown session', payload, { sessionId: 'A'.repeat(43) }],
      ['of a malformed session id', payload, { sessionId: '../../x' }],
      ['header changed', [flip(head), empty, nonce, body, tag].join('.')],
      ['an encrypted key', [head, 'AAAA', nonce, body, tag].join('.')],
      ['nonce changed', [head, empty, flip(nonce), body, tag].join('.')],
      ['body changed', [head, empty, nonce, flip(body), tag].join('.')],
      ['tag changed', [head, empty, nonce, body, flip(tag)].join('.')],
      ['tag truncated', [head, empty, nonce, body, tag.slice(0, 16)].join('.')],
      ['padded', `${payload}==`],
      ['empty', ''],
      ['another enc', await seal(small, 1, { enc: 'A128GCM' })],
      ['compressed', await seal(session, 1, { zip: 'DEF' }).catch(() => payload.replace('.', 'A.'))],
      ['typ', await seal(session, 1, { typ: 'JWE' })],
      ['unknown kid', await seal(session, 1, { kid: other.sessionId })],
      ['no seq', await seal(session, undefined)],
    ]
    for (const [name, text, more] of attempts) {
      expect([name, await tryOpen(session.sessionId, text, more)]).toEqual([name, undefined])
    }
    expect(Buffer.from((await receive(session.sessionId, payload)).plaintext).toString()).toBe('{"a":1}')
  })

  test('is refused if it is an encrypted reply sent back', async () => {
    const session = await openSession()
    const { seal: reply } = await receive(session.sessionId, await seal(session, 1))
    expect(await tryOpen(session.sessionId, reply('{}'))).toBeUndefined()
  })

  test('of an expired or closed session is refused', async () => {
    const closed = await openSession()
    await call(
      at.identity,
      contract.closeSecureChannel,
      createRequestContext(at.clock, { channelSessionId: closed.sessionId }),
    )
    expect(await tryOpen(closed.sessionId, await seal(closed, 1))).toBeUndefined()
    const session = await openSession()
    at.clock.advance(1_799_999)
    await receive(session.sessionId, await seal(session, 1))
    at.clock.advance(1)
    expect(await tryOpen(session.sessionId, await seal(session, 2))).toBeUndefined()
  })

  test('is refused after the cache has lost the replay window; a new session works', async () => {
    const [used, unused] = [await openSession(), await openSession()]
    const first = await seal(used, 1)
    await receive(used.sessionId, first)
    await at.ports.cache.close()
    const next = await openSession()
    for (const [session, payload] of [
      [used, first],
      [used, await seal(used, 2)],
      [unused, await seal(unused, 1)],
    ] as const)
      expect(await tryOpen(session.sessionId, payload)).toBeUndefined()
    expect(
      await at.identity.channel.sealer({ ...unused, portal: 'CONSUMER', clientHash: 'client-one', requestId: 'late' }),
    ).toBeUndefined()
    await receive(next.sessionId, await seal(next, 1))
  })

  test('with a changed session id is refused', async () => {
    const session = await openSession()
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const place of [0, 20, 60, 100, session.sessionId.length - 1])
      for (const letter of letters) {
        const sessionId = session.sessionId.slice(0, place) + letter + session.sessionId.slice(place + 1)
        if (sessionId === session.sessionId) continue
        expect(await tryOpen(sessionId, await seal({ ...session, sessionId }, 1))).toBeUndefined()
      }
    for (const sessionId of [`${session.sessionId}=`, `${session.sessionId}A`, session.sessionId.slice(0, -1)])
      expect(await tryOpen(sessionId, await seal({ ...session, sessionId }, 1))).toBeUndefined()
    await receive(session.sessionId, await seal(session, 1))
  })
})

describe('secureChannel.close', () => {
  test('200: has no effect on a session of another client or portal', async () => {
    const session = await openSession()
    const channelSessionId = session.sessionId
    for (const more of [{ clientHash: 'thief' }, { portal: 'SYSTEM' as const }]) {
      const request = createRequestContext(at.clock, { channelSessionId, ...more })
      expect(await call(at.identity, contract.closeSecureChannel, request)).toBeNull()
    }
    await receive(session.sessionId, await seal(session, 1))
  })

  test('500 SYSTEM.INTERNAL_ERROR: without a session id', async () => {
    expect(await codeOf(call(at.identity, contract.closeSecureChannel, createRequestContext(at.clock)))).toBe(
      'SYSTEM.INTERNAL_ERROR',
    )
  })
})

describe('channel keys', () => {
  test('the next key is offered an hour before the old key expires; the old key works until then', async () => {
    const first = await publicKey()
    at.clock.set(addMs(toInstant(Date.parse(first.expiresAt ?? '')), -3_600_000))
    expect((await publicKey()).keyId).not.toBe(first.keyId)
    at.clock.advance(3_600_000 - 1)
    expect((await open(await openingWith(first, randomBytes(32)))).expiresIn).toBe(1_800)
    at.clock.advance(1)
    expect(await codeOf(open(await openingWith(first, randomBytes(32))))).toBe(invalid)
  })

  test('a key that another replica has just added is accepted', async () => {
    at.clock.advance(24 * 3_600_000)
    const other = await at.replica()
    const offered = await call(other, contract.readPublicKey, createRequestContext(at.clock))
    at.clock.advance(1_000)
    const key = createPublicKey({ key: Buffer.from(offered.publicKey, 'base64'), format: 'der', type: 'spki' })
    const iat = Math.floor(at.clock.now() / 1_000)
    const text = JSON.stringify({ key: randomBytes(32).toString('base64url'), clientHash: 'client-one', iat })
    const payload = await new CompactEncrypt(Buffer.from(text))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: offered.keyId })
      .encrypt(key)
    expect((await open(payload)).expiresIn).toBe(1_800)
  })
})
