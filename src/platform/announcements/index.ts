export { type Announcements, localAnnouncements, type Topic } from './announcements.ts'
export { redisAnnouncements } from './redis.ts'
