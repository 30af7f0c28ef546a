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

/** The permissions of docs/guides/redis.md. */
export function redisRights(): string {
  const text = readFileSync(join(root, 'docs/guides/redis.md'), 'utf8')
  const granted = /ACL SETUSER portico on '>…' ([^`]*)/.exec(text)?.[1]
  if (!granted) throw new Error('docs/guides/redis.md grants nothing')
  return granted.replace(/['\\\n]/g, ' ')
}
