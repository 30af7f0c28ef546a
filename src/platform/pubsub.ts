import type { RedisConnection } from './redis/index.ts'

/**
 * Publishes messages to all replicas, including this one. Messages can be lost. A subscriber must be correct without them:
 * they only make it react sooner.
 */
export interface PubSub {
  /** Returns once local subscribers have the message; other replicas get it soon after. Never throws. */
  publish(topic: Topic, text: string): void
  subscribe(topic: Topic, listener: Listener): void
}

export type Listener = (text: string) => void

/** `session-changed`: the id of a session that has ended or changed. */
export type Topic = 'session-changed'

const topics: readonly Topic[] = ['session-changed']
const channelOf = (topic: Topic): string => `portico:${topic}`

/** Delivers within this process only. */
export const createLocalPubSub = (): PubSub => {
  const listeners = new Map<Topic, Listener[]>()
  return {
    publish: (topic, text) => {
      for (const listener of listeners.get(topic) ?? []) listener(text)
    },
    subscribe: (topic, listener) => void listeners.set(topic, [...(listeners.get(topic) ?? []), listener]),
  }
}

/** Delivers through Redis pub/sub, which reaches every node of a cluster. Drops messages while Redis is unavailable. */
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
