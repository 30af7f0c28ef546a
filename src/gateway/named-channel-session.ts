import type { Headers } from './headers.ts'

/** The session of the secure channel that a request names by either of its fields, for the operation that closes it. */
export const namedChannelSession = (headers: Headers): string | null =>
  // A field that is empty names none.
  headers.optional('x-secure-channel-session-id') || headers.optional('x-sc-session-id') || null
