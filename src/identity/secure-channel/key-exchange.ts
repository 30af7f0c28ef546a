import { compactDecrypt } from 'jose'
import { z } from 'zod'
import { type Clock, parseStrictJson, type Randomness } from '../../kernel/index.ts'
import { decodeBase64url } from '../../platform/crypto/index.ts'
import { hasExactly, parseCompactJwe } from './compact-jwe.ts'
import type { ChannelKey, ChannelKeyRing } from './key-ring.ts'

const keyManagement = 'RSA-OAEP-256'
const contentEncryption = 'A256GCM'
const sessionKeyBytes = 32
const rsaBytes = 256

const Proposal = z.strictObject({ key: z.string().length(43), clientHash: z.string().min(1), iat: z.int() })

/**
 * Reads the payload that opens a session. Each payload causes one RSA decryption, of a decoy if it is malformed or its
 * key is unknown, so that the response time reveals nothing.
 */
export class KeyExchangeReader {
  readonly #keys: Pick<ChannelKeyRing, 'find' | 'offered'>
  readonly #clock: Clock
  readonly #maxClockDifferenceMs: number
  readonly #decoy: string

  constructor(
    keys: Pick<ChannelKeyRing, 'find' | 'offered'>,
    clock: Clock,
    randomness: Randomness,
    maxClockDifferenceMs: number,
  ) {
    this.#keys = keys
    this.#clock = clock
    this.#maxClockDifferenceMs = maxClockDifferenceMs
    this.#decoy = decoyPayload(randomness)
  }

  async read(payload: string, clientHash: string): Promise<Uint8Array | undefined> {
    const key = await this.#keys.find(keyIdOf(payload) ?? '')
    const plaintext = key ? await decrypt(payload, key) : await decrypt(this.#decoy, await this.#keys.offered())
    const proposal = parseProposal(plaintext)
    const sessionKey = decodeBase64url(proposal?.key ?? '')
    if (!proposal || sessionKey?.length !== sessionKeyBytes) return undefined
    const isFresh = Math.abs(this.#clock.now() - proposal.iat * 1_000) <= this.#maxClockDifferenceMs
    return isFresh && proposal.clientHash === clientHash ? sessionKey : undefined
  }
}

/**
 * Takes as long to decrypt as a real payload, but fails. The first byte is 0, so that the value is below any modulus.
 */
function decoyPayload(randomness: Randomness): string {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
  const encryptedKey = randomness.bytes(rsaBytes)
  encryptedKey[0] = 0
  const header = Buffer.from(JSON.stringify({ alg: keyManagement, enc: contentEncryption }))
  return [header, encryptedKey, randomness.bytes(12), randomness.bytes(96), randomness.bytes(16)].map(text).join('.')
}

function keyIdOf(payload: string): string | undefined {
  const jwe = parseCompactJwe(payload)
  if (jwe?.encryptedKey.length !== rsaBytes || !hasExactly(jwe.header, ['alg', 'enc', 'kid'])) return undefined
  const { alg, enc, kid } = jwe.header
  return alg === keyManagement && enc === contentEncryption && typeof kid === 'string' ? kid : undefined
}

async function decrypt(payload: string, key: ChannelKey): Promise<Uint8Array | undefined> {
  const algorithms = { keyManagementAlgorithms: [keyManagement], contentEncryptionAlgorithms: [contentEncryption] }
  try {
    return (await compactDecrypt(payload, key.privateKey, algorithms)).plaintext
  } catch {
    return undefined
  }
}

function parseProposal(plaintext: Uint8Array | undefined) {
  const parsed = parseStrictJson(plaintext ?? new Uint8Array(), 1)
  return parsed.ok ? Proposal.safeParse(parsed.value).data : undefined
}
