import type { Migration } from 'kysely'
import * as access from './002-access.ts'

/** In the order of their names; one that has been released is never changed. */
export const migrations: Record<string, Migration> = {
  '002-access': access,
}
