import type { Generated } from 'kysely'
import { type Json, sqlMigration } from '../../database/index.ts'

interface DevelopmentOutboxTable {
  sequence: Generated<number>
  mail: Json
}

declare module '../../database/tables.ts' {
  interface Tables {
    development_outbox: DevelopmentOutboxTable
  }
}

/** Production never writes here. */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE development_outbox (
      sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      mail jsonb NOT NULL
    )`,
  ]),
]
