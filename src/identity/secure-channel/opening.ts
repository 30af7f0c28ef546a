import { compactDecrypt } from 'jose'
import { z } from 'zod'
import { type Clock, parseStrictJson, type Randomness } from '../../kernel/index.ts'
import { decodeBase64url } from '../../platform/crypto/index.ts'
import { hasExactly, parseCompactJwe } from './compact-jwe.ts'
import type { ChannelKey, ChannelKeyRing } from './key-ring.ts'

/** What a client proposes when it opens a session: completions.md, Secure channel. */
export interface Opening {
  key: Uint8Array
}

const keyManagement = 'RSA-OAEP-256'
const contentEncryption = 'A256GCM'
const sessionKeyBytes = 32
const rsaBytes = 256

const Proposal = z.strictObject({ key: z.string().length(43), clientHash: z.string().min(1), iat: z.int() })

/** The key id that a well-formed payload names, undefined for any other payload. */
const namedKey = (payload: string): string | undefined => {
  const jwe = parseCompactJwe(payload)
  if (jwe?.encryptedKey.length !== rsaBytes || !hasExactly(jwe.header, ['alg', 'enc', 'kid'])) return undefined
  const { alg, enc, kid } = jwe.header
  return alg === keyManagement && enc === contentEncryption && typeof kid === 'string' ? kid : undefined
}

/** A payload that costs what a real one costs and that no key opens; its number stays below any modulus. */
const decoyPayload = (randomness: Randomness): string => {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
  const encryptedKey = randomness.bytes(rsaBytes)
  encryptedKey[0] = 0
  const header = Buffer.from(JSON.stringify({ alg: keyManagement, enc: contentEncryption }))
  return [header, encryptedKey, randomness.bytes(12), randomness.bytes(96), randomness.bytes(16)].map(text).join('.')
}

const decrypt = async (payload: string, key: ChannelKey): Promise<Uint8Array | undefined> => {
  const algorithms = {
    keyManagementAlgorithms: [keyManagement],
    contentEncryptionAlgorithms: [contentEncryption],
  }
  try {
    return (await compactDecrypt(payload, key.privateKey, algorithms)).plaintext
  } catch {
    return undefined
  }
}

const parseProposal = (plaintext: Uint8Array | undefined) => {
  const parsed = parseStrictJson(plaintext ?? new Uint8Array(), 1)
  return parsed.ok ? Proposal.safeParse(parsed.value).data : undefined
}

/**
 * Reads the payload of an opening; undefined for whatever is wrong with it. One RSA decryption is done in any case,
 * with a decoy where the payload is malformed or names no current key.
 */
export const openingReader = (ring: ChannelKeyRing, clock: Clock, randomness: Randomness, toleranceMs: number) => {
  const decoy = decoyPayload(randomness)
  return async (payload: string, clientHash: string): Promise<Opening | undefined> => {
    const keyId = namedKey(payload)
    const key = await ring.find(keyId ?? '')
    const plaintext = key ? await decrypt(payload, key) : await decrypt(decoy, await ring.offered())
    const proposal = parseProposal(plaintext)
    const sessionKey = decodeBase64url(proposal?.key ?? '')
    if (!proposal || sessionKey?.length !== sessionKeyBytes) return undefined
    const fresh = Math.abs(clock.now() - proposal.iat * 1_000) <= toleranceMs
    return fresh && proposal.clientHash === clientHash ? { key: sessionKey } : undefined
  }
}
