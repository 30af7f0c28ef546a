import { CompactEncrypt, exportSPKI, generateKeyPair } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createChannel, createChannelCache, sealRequest } from '../../../src/client/channel/channel.ts'
import { wrapSessionKey } from '../../../src/client/channel/handshake.ts'
import { decryptJwe, encryptJwe, importSessionKey, type JweHeader } from '../../../src/client/channel/jwe.ts'
import type { Operation } from '../../../src/kernel/index.ts'

const raw = new Uint8Array(32).fill(3)
let key: CryptoKey
beforeAll(async () => {
  key = await importSessionKey(raw)
})

const requestId = 'request'
const header = { alg: 'dir', enc: 'A256GCM', kid: 'session', msg: 'reply', rid: requestId, seq: 1 }
const { seq: _, ...unnumbered } = header
const { rid: _rid, ...unbound } = header
const { msg: _msg, ...undirected } = header

describe('a channel', () => {
  const channel = (expiresAt = 0, clientHash = 'hash') =>
    createChannel({ sessionId: 'session', clientHash, expiresAt }, key)

  it.each<[string, JweHeader, number | null, boolean]>([
    ['the reply to a numbered body', header, 1, true],
    ['the reply to a call without a body', unnumbered, null, true],
    ['the reply to another body', header, 2, false],
    ['a reply without a number to a numbered body', unnumbered, 1, false],
    ['a numbered reply to a call without a body', header, null, false],
    ['a reply of another session', { ...header, kid: 'other' }, 1, false],
    ['a reply to another request', { ...header, rid: 'other' }, 1, false],
    ['a reply that names no request', unbound, 1, false],
    ['a request', { ...undirected, htm: 'POST', htu: '/a' }, 1, false],
    ['a reply with another alg', { ...header, alg: 'A256KW' }, 1, false],
    ['a reply with another enc', { ...header, enc: 'A128GCM' }, 1, false],
  ])('opens %s (%j to %s): %s', async (_name, header, seq, opens) => {
    const reply = channel().open(await encryptJwe(header, key, 'text'), { requestId, seq })
    if (opens) expect(await reply).toBe('text')
    else await expect(reply).rejects.toThrow('belongs to another request')
  })

  it('numbers its bodies from 1', async () => {
    const one = channel()
    expect((await Promise.all([one.seal('POST', '/a', ''), one.seal('POST', '/a', '')])).map(({ seq }) => seq)).toEqual(
      [1, 2],
    )
  })

  describe('a channel cache', () => {
    const createCache = (fails = 0) => {
      let now = 0
      let failures = fails
      const opened: string[] = []
      const keeper = createChannelCache(
        async (clientHash) => {
          opened.push(clientHash)
          if (failures-- > 0) throw new Error('closed')
          return channel(now + 60_000, clientHash)
        },
        () => now,
      )
      const pass = (milliseconds: number): void => {
        now += milliseconds
      }
      return { keeper, opened, pass }
    }

    it('serves a channel until five seconds before its expiry', async () => {
      const { keeper, opened, pass } = createCache()
      const first = await keeper.get('one')
      pass(54_999)
      expect(await keeper.get('one')).toBe(first)
      pass(1)
      expect(await keeper.get('one')).not.toBe(first)
      expect(opened).toHaveLength(2)
    })

    it('opens a new channel for another client hash', async () => {
      const { keeper, opened } = createCache()
      await keeper.get('one')
      expect((await keeper.get('two')).clientHash).toBe('two')
      expect(opened).toEqual(['one', 'two'])
    })

    it('opens one channel, however many calls notice that the old one is invalid', async () => {
      const { keeper, opened } = createCache()
      keeper.invalidate(await keeper.get('one'))
      const all = await Promise.all([1, 2, 3].map(() => keeper.get('one')))
      expect([new Set(all).size, opened.length]).toEqual([1, 2])
    })

    it('gives no call a channel of another client hash, even concurrently', async () => {
      const { keeper } = createCache()
      await keeper.get('one')
      const all = await Promise.all(['two', 'three', 'two', 'three'].map((hash) => keeper.get(hash)))
      expect(all.map(({ clientHash }) => clientHash)).toEqual(['two', 'three', 'two', 'three'])
    })

    it('hands over its channel once; none after a failed opening', async () => {
      const { keeper } = createCache()
      const channelNow = await keeper.get('one')
      expect([await keeper.take(), await keeper.take()]).toEqual([channelNow, null])
      const failing = createCache(1).keeper
      const opening = failing.get('one')
      const taken = failing.take()
      await expect(opening).rejects.toThrow('closed')
      expect(await taken).toBeNull()
    })

    it('a late failure of an opening does not affect the channel opened meanwhile', async () => {
      const ends = [
        Promise.withResolvers<ReturnType<typeof channel>>(),
        Promise.withResolvers<ReturnType<typeof channel>>(),
      ]
      let opened = 0
      const keeper = createChannelCache(
        () => ends[opened++]?.promise ?? Promise.reject(new Error('a third one')),
        () => 0,
      )
      const failing = keeper.get('one')
      const taken = keeper.take()
      const good = keeper.get('one')
      ends[0]?.reject(new Error('closed'))
      ends[1]?.resolve(channel(60_000, 'one'))
      await expect(failing).rejects.toThrow('closed')
      expect(await taken).toBeNull()
      expect(await keeper.get('one')).toBe(await good)
    })
  })
})

describe('a sealed payload', () => {
  it('has a fresh nonce and a non-extractable key', async () => {
    const nonces = await Promise.all([1, 2, 3].map(async () => (await encryptJwe(header, key, 'text')).split('.')[2]))
    expect(new Set(nonces).size).toBe(3)
    expect(key.extractable).toBe(false)
  })

  it('opens only with an empty encrypted key and a complete tag', async () => {
    let parts: string[] = []
    // The client must keep a final zero byte of the authentication tag.
    for (let ends = false; !ends; ends = /AA$/.test(parts[4] ?? ''))
      parts = (await encryptJwe(header, key, 'text')).split('.')
    expect((await decryptJwe(parts.join('.'), key)).text).toBe('text')
    const cut = Buffer.from(parts[4] ?? '', 'base64url')
      .subarray(0, 15)
      .toString('base64url')
    await expect(decryptJwe(parts.with(4, cut).join('.'), key)).rejects.toThrow(
      'the authentication tag has the wrong length',
    )
    await expect(decryptJwe(parts.with(1, 'AAAA').join('.'), key)).rejects.toThrow('not a compact JWE')
  })

  it('opens only if it is UTF-8', async () => {
    const bytes = await new CompactEncrypt(Uint8Array.of(0xff)).setProtectedHeader({ ...header }).encrypt(raw)
    await expect(decryptJwe(bytes, key)).rejects.toThrow()
  })

  it('of a handshake has two fresh keys each time', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RSA-OAEP-256', { extractable: true })
    const spki = (await exportSPKI(publicKey)).replaceAll(/-----[^-]+-----|\s/g, '')
    const seen = new Set<string>()
    for (let round = 0; round < 2; round++) {
      const { payload } = await wrapSessionKey({ keyId: 'k', publicKey: spki, clientHash: 'hash', iat: 1 })
      const [head = '', wrapped = '', ...rest] = payload.split('.')
      const content = await crypto.subtle.decrypt('RSA-OAEP', privateKey, Buffer.from(wrapped, 'base64url'))
      const { text } = await decryptJwe([head, '', ...rest].join('.'), await importSessionKey(new Uint8Array(content)))
      seen.add(Buffer.from(content).toString('base64url')).add(JSON.parse(text).key)
    }
    expect(seen.size).toBe(4)
    expect(seen).not.toContain(Buffer.alloc(32).toString('base64url'))
  })
})

it('sealRequest: does not ask for an encrypted reply of an operation whose reply is a file', async () => {
  const channel = {
    sessionId: 'one',
    clientHash: 'a hash',
    expiresAt: 0,
    seal: async () => ({ payload: 'sealed', seq: 1 }),
    open: async () => '',
  }
  const headersFor = async (reply: Operation['reply']) =>
    (await sealRequest(channel, { method: 'POST', path: '/a', requestId: 'id', reply }, '{}')).headers
  const session = { 'x-secure-channel-session-id': 'one' }
  expect(await headersFor('stream')).toEqual(session)
  expect(await headersFor(z.null())).toEqual({ ...session, 'x-secure-channel-reply': 'encrypted' })
})
