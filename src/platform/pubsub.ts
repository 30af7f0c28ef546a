import type { RedisConnection } from './redis/index.ts'

/** News for all replicas, this one included. They may be lost: whoever listens must be right without them, only later. */
export interface PubSub {
  /** Heard here at once, and on the other replicas soon. It never fails; it may not arrive there. */
  publish(topic: Topic, text: string): void
  subscribe(topic: Topic, listener: Listener): void
}

export type Listener = (text: string) => void

/** `session-changed`: the id of a session that has ended or changed. */
export type Topic = 'session-changed'

/** For a process that is alone. */
export const createLocalPubSub = (): PubSub => {
  const listeners = new Map<Topic, Listener[]>()
  return {
    publish: (topic, text) => {
      for (const listener of listeners.get(topic) ?? []) listener(text)
    },
    subscribe: (topic, listener) => void listeners.set(topic, [...(listeners.get(topic) ?? []), listener]),
  }
}

const topics: readonly Topic[] = ['session-changed']
const channelOf = (topic: Topic): string => `portico:${topic}`

/** Over Redis pub/sub, which also reaches every node of a cluster. A message that cannot be sent is lost. */
export const createRedisPubSub = (redis: RedisConnection): PubSub => {
  const local = createLocalPubSub()
  for (const topic of topics) redis.subscribe(channelOf(topic), (text) => local.publish(topic, text))
  return {
    publish: (topic, text) => {
      local.publish(topic, text)
      redis.command('PUBLISH', channelOf(topic), text).catch(() => undefined)
    },
    subscribe: local.subscribe,
  }
}
