import { z } from 'zod'
import { httpUrl, timeoutMs } from './values.ts'

/** Browsers send origins in exactly this form. */
const isOrigin = (text: string): boolean => URL.parse(text)?.origin === text

export const streamSettings = z.strictObject({
  maxPerAccount: z
    .int()
    .min(1)
    .describe('Maximum number of open event streams and WebSockets per account and replica. Further requests get 429.'),
  maxPerAddress: z
    .int()
    .min(1)
    .describe(
      'Maximum number of open event streams and WebSockets per client address and replica, for operations without a token. Further requests get 429.',
    ),
  origins: z
    .array(httpUrl.refine(isOrigin, 'an origin such as https://portal.example'))
    .describe(
      'Origins of pages that can open WebSockets, in addition to the origin of `publicUrl`. Handshakes from other pages get 403. Handshakes without an `Origin` header, from clients other than browsers, are accepted.',
    ),
  recheckMs: timeoutMs(50)
    .max(500)
    .describe(
      'Interval in milliseconds at which the session, the workspace and the permission of an open stream are checked again. If one of them is no longer valid, the stream is closed.',
    ),
  maxOpen: z
    .int()
    .min(1)
    .describe('Maximum number of open event streams and WebSockets per replica. Further requests get 503.'),
  idleTimeoutMs: timeoutMs(100).describe(
    'Time in milliseconds after which an event stream or a WebSocket is closed if neither side sends anything. Services must send a comment or a ping more often. For raw operations and `passThrough` prefixes, the maximum time for which a service can send nothing: afterwards, the client gets 504, or the connection is closed if the response has already started.',
  ),
  maxLifetimeMs: timeoutMs(100).describe(
    'Maximum time in milliseconds for which a stream stays open. Clients must then reopen it.',
  ),
  maxBufferedBytes: z
    .int()
    .min(1_024)
    .describe(
      'Maximum number of bytes that the gateway buffers in each direction of a stream whose reader is slow. When the buffer is full, the gateway stops reading from the sender.',
    ),
})

export type StreamSettings = z.output<typeof streamSettings>
