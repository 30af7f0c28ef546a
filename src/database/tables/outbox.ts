import type { Generated } from 'kysely'
import type { Json } from './columns.ts'

export interface DevelopmentOutboxTable {
  sequence: Generated<number>
  mail: Json
}

export interface OutboxTables {
  development_outbox: DevelopmentOutboxTable
}
