import type { RedisConnection } from './redis/index.ts'

/** Publishes to all replicas, including this one. Messages can be lost: they only make a subscriber react sooner. */
export interface PubSub {
  /** Never throws. Local subscribers have the message when it returns. */
  publish(topic: Topic, text: string): void
  subscribe(topic: Topic, listener: Listener): void
}

export type Listener = (text: string) => void

const topics = ['session-changed', 'events-sequenced', 'replicas', 'canaries'] as const

/**
 * `session-changed`: the id of a session that has ended or changed. `events-sequenced`: no text. `replicas`: messages of
 * replicas.ts. `canaries`: messages of src/backends/trial/trial-book.ts.
 */
export type Topic = (typeof topics)[number]

export function createLocalPubSub(): PubSub {
  const listeners = new Map<Topic, Listener[]>()
  return {
    publish: (topic, text) => {
      for (const listener of listeners.get(topic) ?? []) listener(text)
    },
    subscribe: (topic, listener) => void listeners.set(topic, [...(listeners.get(topic) ?? []), listener]),
  }
}

/** Reaches every node of a cluster. Drops messages while Redis is unavailable. */
export function createRedisPubSub(redis: RedisConnection): PubSub {
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

function channelOf(topic: Topic): string {
  return `portico:${topic}`
}
