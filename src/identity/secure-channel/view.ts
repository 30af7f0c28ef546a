import { type Instant, toIso } from '../../kernel/index.ts'
import type { ChannelKey } from './key-ring.ts'

/** Instants have milliseconds; the contract requires nanoseconds. */
const withNanoseconds = (iso: string): string => iso.replace('Z', '000000Z')

export const toPublicKeyView = ({ keyId, publicKey, createdAt, expiresAt }: ChannelKey) => ({
  keyId,
  publicKey: Buffer.from(publicKey).toString('base64'),
  algorithm: 'RSA-OAEP-2048' as const,
  keySize: 2048 as const,
  createdAt: withNanoseconds(toIso(createdAt)),
  expiresAt: toIso(expiresAt),
})

export const toChannelSessionView = ({
  sessionId,
  createdAt,
  expiresAt,
}: {
  sessionId: string
  createdAt: Instant
  expiresAt: Instant
}) => ({
  sessionId,
  algorithm: 'A256GCM' as const,
  expiresIn: Math.floor((expiresAt - createdAt) / 1_000),
  createdAt: toIso(createdAt),
  expiresAt: toIso(expiresAt),
})
