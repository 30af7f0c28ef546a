import type { Migration } from 'kysely/migration'
import * as audit from './000-audit.ts'
import * as access from './002-access.ts'

/** In the order of their names; one that has been released is never changed. */
export const migrations: Record<string, Migration> = {
  '000-audit': audit,
  '002-access': access,
}
