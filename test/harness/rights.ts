import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './settings.ts'

/** This role has the grants of docs/guides/postgresql.md and cannot create tables. */
export const servingRole = 'serving'
export const servingRights = [
  `CREATE ROLE ${servingRole} LOGIN`,
  `GRANT USAGE ON SCHEMA public TO ${servingRole}`,
  `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${servingRole}`,
  `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${servingRole}`,
]

const redisGuide = readFileSync(join(root, 'docs/guides/redis.md'), 'utf8')

/** The commands of docs/guides/redis.md that create the user. */
export const aclScript = /^```sh\n(redis-cli ACL SETUSER .*?)^```$/ms.exec(redisGuide)?.[1] ?? ''

/** The permissions of docs/guides/redis.md. */
export function redisRights(): string {
  const granted = /ACL SETUSER portico on '>…' (.*?)\nredis-cli/s.exec(aclScript)?.[1]
  if (!granted) throw new Error('docs/guides/redis.md grants nothing')
  return granted.replace(/['\\\n]/g, ' ')
}

/** Its additions for a cluster. */
export const clusterRights = /Add `([^`]*)` for a cluster/.exec(redisGuide)?.[1] ?? ''
