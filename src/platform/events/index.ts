/**
 * What happened, once it is committed. A trigger writes each change to an outbox in its own transaction. The sequencer
 * turns changes into events with positions, which feeds, streams, webhooks and reactions read. Start with event.ts, then
 * sequencer.ts. Depends on the kernel, the
 * database and jobs.
 */

export {
  type Change,
  type EventConsumer,
  type EventMapper,
  type NewEvent,
  type StoredEvent,
  toCloudEvent,
} from './event.ts'
export { expiredEventCleanup } from './retention.ts'
export { recordChanges } from './schema.ts'
export { EventSequencer, type SequencerPorts } from './sequencer.ts'
export {
  endsOfFeed,
  eventsAfter,
  insertRecorded,
  outboxState,
  recordAs,
} from './store.ts'
export { EventTail, type EventTailPorts, type Follower } from './tail.ts'
