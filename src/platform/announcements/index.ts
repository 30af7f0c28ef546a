import type { RedisConnection } from '../redis/index.ts'
import type { Announcements } from './announcements.ts'

export type { Announcements, Topic } from './announcements.ts'

/** For a process that is alone: there is nobody to tell. */
export const noAnnouncements: Announcements = { announce: () => undefined, listen: () => undefined }

/** Over Redis pub/sub, which also reaches every node of a cluster. A message that cannot be sent is lost. */
export const redisAnnouncements = (redis: RedisConnection): Announcements => {
  const channel = (topic: string): string => `portico:${topic}`
  return {
    announce: (topic, text) => void redis.command('PUBLISH', channel(topic), text).catch(() => undefined),
    listen: (topic, listener) => redis.subscribe(channel(topic), listener),
  }
}
