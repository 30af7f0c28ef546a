import type { ChannelPort, ChannelRequest, SealedRequest } from '../../gateway/pipeline/ports.ts'
import { type Randomness, thenSync } from '../../kernel/index.ts'
import type { ChannelSession, ChannelSessions } from './channel-sessions.ts'
import { type CompactJwe, decryptDirect, encryptDirect, hasExactly, parseCompactJwe } from './compact-jwe.ts'

const nonceBytes = 12
const keyBytes = 32

/**
 * Decrypts every body, with a decoy key if the session is unknown, so that the response time reveals nothing. Spends
 * the sequence number only after the decryption has authenticated the sender.
 */
export function createSealedBodies(sessions: ChannelSessions, randomness: Randomness): ChannelPort {
  const decoyKey = randomness.bytes(keyBytes)
  const decoy: CompactJwe = {
    header: {},
    aad: Buffer.alloc(0),
    encryptedKey: Buffer.alloc(0),
    nonce: Buffer.alloc(nonceBytes),
    ciphertext: Buffer.alloc(64),
    tag: Buffer.alloc(16),
  }
  const seal = (header: Record<string, string | number>, key: Uint8Array, text: string): string =>
    encryptDirect(header, text, key, randomness.bytes(nonceBytes))

  const openBody = (session: ChannelSession | undefined, sealed: SealedRequest): ReturnType<ChannelPort['open']> => {
    const jwe = parseCompactJwe(sealed.payload)
    const plaintext = decryptDirect(jwe ?? decoy, session?.key ?? decoyKey)
    const seq = jwe?.encryptedKey.length === 0 ? sequenceOf(jwe.header, sealed) : undefined
    if (!plaintext || !session || seq === undefined) return undefined
    const header = { ...replyHeader(sealed), seq }
    const opened = { plaintext, seal: (text: string) => seal(header, session.key, text) }
    return thenSync(sessions.spend(session, seq), (isSpent) => (isSpent ? opened : undefined))
  }

  return {
    open: (sealed) => openBody(sessions.read(sealed.sessionId, sealed), sealed),
    sealer: (request) => {
      const session = sessions.read(request.sessionId, request)
      if (!session) return undefined
      const sealReply = (text: string) => seal(replyHeader(request), session.key, text)
      return thenSync(sessions.isOpen(session), (isOpen) => (isOpen ? sealReply : undefined))
    },
  }
}

function sequenceOf(header: Record<string, unknown>, sealed: SealedRequest): number | undefined {
  if (!hasExactly(header, ['alg', 'enc', 'kid', 'seq', 'htm', 'htu'])) return undefined
  const { alg, enc, kid, seq, htm, htu } = header
  if (alg !== 'dir' || enc !== 'A256GCM' || kid !== sealed.sessionId) return undefined
  if (htm !== sealed.method || htu !== sealed.path) return undefined
  return Number.isSafeInteger(seq) ? Number(seq) : undefined
}

/** Returns the header of a reply. It binds the reply to its request, and `msg` to its direction. */
function replyHeader({ sessionId, requestId }: ChannelRequest) {
  return {
    alg: 'dir',
    enc: 'A256GCM',
    kid: sessionId,
    msg: 'reply',
    rid: requestId,
  }
}
