export { type Announcements, localAnnouncements } from './announcements.ts'
export { redisAnnouncements } from './redis.ts'
