import type { RedisConnection } from '../redis/index.ts'
import { type Announcements, localAnnouncements, type Topic } from './announcements.ts'

const topics: readonly Topic[] = ['session-changed']
const channelOf = (topic: Topic): string => `portico:${topic}`

/** Over Redis pub/sub, which also reaches every node of a cluster. A message that cannot be sent is lost. */
export const redisAnnouncements = (redis: RedisConnection): Announcements => {
  const local = localAnnouncements()
  for (const topic of topics) redis.subscribe(channelOf(topic), (text) => local.announce(topic, text))
  return {
    announce: (topic, text) => {
      local.announce(topic, text)
      redis.command('PUBLISH', channelOf(topic), text).catch(() => undefined)
    },
    listen: local.listen,
  }
}
