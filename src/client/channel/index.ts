export type { Channel } from './channel.ts'
export { type ChannelKeeper, createChannelKeeper } from './keeper.ts'
export { closeSession, openSession } from './session.ts'
