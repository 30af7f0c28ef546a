export type { Channel } from './channel.ts'
export { type ChannelCache, createChannelCache } from './channel-cache.ts'
export { closeChannel, openChannel } from './handshake.ts'
