import * as z from 'zod'
import type { Chain, Operation } from '../kernel/index.ts'

/** The request body sent through the secure channel (docs/reference/secure-channel.md, 3). */
export const SealedBody = z.strictObject({ payload: z.string() }).meta({
  description:
    'The body through the secure channel: a compact JWE (RFC 7516), header `{alg: dir, enc: A256GCM, kid, seq, htm, htu}`, ' +
    'whose plaintext is the body in its usual form.',
})

/** The envelope's `data` in a sealed reply (docs/reference/secure-channel.md, 4). */
export const SealedReply = z.object({ payload: z.string() }).meta({
  description:
    'The data through the secure channel, where `X-Secure-Channel-Reply` asks for that: a compact JWE (RFC 7516), header ' +
    '`{alg: dir, enc: A256GCM, kid, seq}`, without `seq` where no body was sealed, whose plaintext is the data in its usual form.',
})
export type SealedReply = z.output<typeof SealedReply>

/** Whether an operation's body and reply can go through the secure channel: portal chains only, by the policy. */
export const isSealable = ({ policy }: Operation, { perimeter }: Chain): boolean =>
  perimeter === 'portal' && policy.channel === 'optional'
