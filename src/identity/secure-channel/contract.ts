import * as z from 'zod'
import { nothing, timestamp } from '../../contract/fields.ts'
import { anonymous } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'

export const summary = 'Encryption of request and response bodies between client and gateway, in addition to TLS.'

const PublicKey = z.object({
  keyId: z.string(),
  publicKey: z.string().meta({ description: 'Base64 of the SubjectPublicKeyInfo (DER).' }),
  algorithm: z.literal('RSA-OAEP-2048'),
  keySize: z.literal(2048),
  createdAt: z
    .string()
    .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
    .meta({ description: 'ISO 8601 with nanoseconds.' }),
  expiresAt: timestamp.nullable(),
})

const ChannelSession = z.object({
  sessionId: z.string(),
  algorithm: z.literal('A256GCM'),
  expiresIn: z.int(),
  createdAt: timestamp,
  expiresAt: timestamp,
})

/**
 * JSON with a different shape becomes an empty payload, so that every invalid body gets SECURE_CHANNEL.INVALID_PAYLOAD.
 */
const ChannelRequest = z.strictObject({ payload: z.string().max(8_192) }).catch({ payload: '' })

const channel = { chains: ['consumer', 'system', 'shared'] } as const
const policy = { ...anonymous, channel: 'none' } as const

export const readPublicKey = operation({
  ...channel,
  id: 'secureChannel.publicKey',
  method: 'GET',
  path: '/secure-channel/public-key',
  summary: 'Get the public key for opening a channel session',
  policy,
  body: 'none',
  reply: PublicKey,
  refuses: [],
})

export const openSecureChannel = operation({
  ...channel,
  id: 'secureChannel.open',
  method: 'POST',
  path: '/secure-channel/session',
  summary: 'Open a channel session',
  policy: { ...policy, rate: 'channelOpen' },
  body: ChannelRequest,
  malformedBody: 'SECURE_CHANNEL.INVALID_PAYLOAD',
  reply: ChannelSession,
  refuses: ['SECURE_CHANNEL.INVALID_PAYLOAD'],
})

export const closeSecureChannel = operation({
  ...channel,
  id: 'secureChannel.close',
  method: 'POST',
  path: '/secure-channel/session/close',
  summary: 'Close the channel session of the request header',
  policy,
  body: 'none',
  reply: nothing,
  refuses: [],
})
