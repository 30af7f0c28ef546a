/*
 * The client's side of the secure channel (docs/reference/secure-channel.md): opening and closing channel sessions, sealing requests
 * and opening replies with WebCrypto. Start reading with `handshake.ts`, then `channel.ts`.
 */
export type { Channel } from './channel.ts'
export { type ChannelCache, createChannelCache } from './channel-cache.ts'
export { closeChannel, openChannel } from './handshake.ts'
