import type { ChannelPort, SealedRequest } from '../../gateway/ports.ts'
import { type Randomness, thenSync } from '../../kernel/index.ts'
import type { ChannelSession, ChannelSessions } from './channel-sessions.ts'
import { type CompactJwe, hasExactly, parseCompactJwe } from './compact-jwe.ts'
import { decryptDirect, encryptDirect } from './direct-encryption.ts'

const nonceBytes = 12
const keyBytes = 32

/** The sequence number of a header that is exactly the one this request calls for; undefined for any other. */
const sequenceOf = (header: Record<string, unknown>, sealed: SealedRequest): number | undefined => {
  if (!hasExactly(header, ['alg', 'enc', 'kid', 'seq', 'htm', 'htu'])) return undefined
  const { alg, enc, kid, seq, htm, htu } = header
  if (alg !== 'dir' || enc !== 'A256GCM' || kid !== sealed.sessionId) return undefined
  if (htm !== sealed.method || htu !== sealed.path) return undefined
  return Number.isSafeInteger(seq) ? Number(seq) : undefined
}

/**
 * The secure channel as the pipeline uses it. A body is decrypted in any case, by a key that fits nothing where the
 * session is unknown, and its number is spent only once it has proved to come from the session's holder.
 */
export const createSealedBodies = (sessions: ChannelSessions, randomness: Randomness): ChannelPort => {
  const decoyKey = randomness.bytes(keyBytes)
  const decoy: CompactJwe = {
    header: {},
    aad: Buffer.alloc(0),
    encryptedKey: Buffer.alloc(0),
    nonce: Buffer.alloc(nonceBytes),
    ciphertext: Buffer.alloc(64),
    tag: Buffer.alloc(16),
  }
  const sealer =
    (header: Record<string, string | number>, key: Uint8Array) =>
    (text: string): string =>
      encryptDirect(header, text, key, randomness.bytes(nonceBytes))

  const openBy = (session: ChannelSession | undefined, sealed: SealedRequest): ReturnType<ChannelPort['open']> => {
    const jwe = parseCompactJwe(sealed.payload)
    const plaintext = decryptDirect(jwe ?? decoy, session?.key ?? decoyKey)
    const seq = jwe?.encryptedKey.length === 0 ? sequenceOf(jwe.header, sealed) : undefined
    if (!plaintext || !session || seq === undefined) return undefined
    const seal = sealer({ alg: 'dir', enc: 'A256GCM', kid: sealed.sessionId, seq }, session.key)
    return thenSync(sessions.spend(session, seq), (isGood) => (isGood ? { plaintext, seal } : undefined))
  }

  return {
    open: (sealed) => openBy(sessions.read(sealed.sessionId, sealed), sealed),
    sealer: ({ sessionId, ...owner }) => {
      const session = sessions.read(sessionId, owner)
      if (!session) return undefined
      const seal = sealer({ alg: 'dir', enc: 'A256GCM', kid: sessionId }, session.key)
      return thenSync(sessions.isOpen(session), (isOpen) => (isOpen ? seal : undefined))
    },
  }
}
