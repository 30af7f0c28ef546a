import { createPrivateKey, createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { decryptJwe, importSessionKey } from '../../src/client/channel/jwe.ts'
import { decryptDirect, encryptDirect, parseCompactJwe } from '../../src/identity/secure-channel/compact-jwe.ts'

import { KeyExchangeReader } from '../../src/identity/secure-channel/key-exchange.ts'
import { toInstant } from '../../src/kernel/index.ts'
import { systemRandomness } from '../../src/platform/runtime/index.ts'

import { root } from '../harness/settings.ts'

const Sealed = z.strictObject({ header: z.string(), nonce: z.string(), plaintext: z.string(), payload: z.string() })
const Vectors = z.strictObject({
  opening: z.strictObject({
    keyId: z.string(),
    publicKey: z.base64(),
    privateKey: z.base64(),
    clientHash: z.string(),
    iat: z.int(),
    header: z.string(),
    plaintext: z.string(),
    payload: z.string(),
  }),
  session: z.strictObject({ sessionId: z.string(), sessionKey: z.base64url() }),
  body: Sealed,
  replyToBody: Sealed,
  replyWithoutBody: Sealed,
})

const vectors = Vectors.parse(
  JSON.parse(readFileSync(join(root, 'docs/reference/secure-channel-vectors.json'), 'utf8')),
)
const { opening, session, ...sealed } = vectors
function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(text, 'base64url'))
}
const direct = z.record(z.string(), z.union([z.string(), z.int()]))

test('the vector of an opening is one that the gateway takes, and brings the key of the session', async () => {
  const privateKey = createPrivateKey({ key: Buffer.from(opening.privateKey, 'base64'), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  expect(publicKey.toString('base64')).toBe(opening.publicKey)
  const now = toInstant(opening.iat * 1_000)
  const key = { keyId: opening.keyId, publicKey, privateKey, createdAt: now, expiresAt: now }
  const ring = { offered: async () => key, find: async (keyId: string) => (keyId === key.keyId ? key : undefined) }
  const reader = new KeyExchangeReader(ring, { now: () => now }, systemRandomness, 0)
  const sessionKey = await reader.read(opening.payload, opening.clientHash)
  expect(sessionKey && Buffer.from(sessionKey).toString('base64url')).toBe(session.sessionKey)
  expect(opening.payload.split('.')[0]).toBe(Buffer.from(opening.header).toString('base64url'))
  const proposal = { key: session.sessionKey, clientHash: opening.clientHash, iat: opening.iat }
  expect(JSON.parse(opening.plaintext)).toEqual(proposal)
})

test.each(Object.entries(sealed))(
  'the vector %s is what both sides make and open, byte for byte',
  async (_name, one) => {
    const header = direct.parse(JSON.parse(one.header))
    expect(header.kid).toBe(session.sessionId)
    const key = bytes(session.sessionKey)
    expect(encryptDirect(header, one.plaintext, key, bytes(one.nonce))).toBe(one.payload)
    const jwe = parseCompactJwe(one.payload)
    expect(jwe && decryptDirect(jwe, key)?.toString('utf8')).toBe(one.plaintext)
    const opened = await decryptJwe(one.payload, await importSessionKey(key))
    expect(opened).toEqual({ header, text: one.plaintext })
  },
)
