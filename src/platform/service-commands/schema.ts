import { sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId } from '../../kernel/index.ts'

interface ServiceCommandsTable {
  accountBizId: AccountId
  /** The nil UUID without a workspace. */
  workspaceBizId: string
  operation: string
  requestId: string
  bodyHash: string
  /** The number of times that the command was sent. */
  attempt: number
  /** Until then, the service may still be working. */
  claimedUntil: Timestamp
  /** JSON text as the client gets it. Null while the outcome is unknown. */
  reply: string | null
  createdAt: Timestamp
}

/** Where the first request of a command of a domain with a canary was sent. */
interface CommandPlacesTable {
  accountBizId: AccountId
  /** The nil UUID without a workspace. */
  workspaceBizId: string
  operation: string
  requestId: string
  /** `in-process`, or the URL of a service. */
  place: string
  createdAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    service_commands: ServiceCommandsTable
    command_places: CommandPlacesTable
  }
}

export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE service_commands (
      account_biz_id uuid NOT NULL,
      workspace_biz_id uuid NOT NULL,
      operation text NOT NULL,
      request_id text NOT NULL,
      body_hash text NOT NULL,
      attempt integer NOT NULL,
      claimed_until timestamptz NOT NULL,
      reply text,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (account_biz_id, workspace_biz_id, operation, request_id)
    )`,
    `CREATE INDEX service_commands_at ON service_commands (created_at)`,
  ]),
  sqlMigration('002-command-places', [
    `CREATE TABLE command_places (
      account_biz_id uuid NOT NULL,
      workspace_biz_id uuid NOT NULL,
      operation text NOT NULL,
      request_id text NOT NULL,
      place text NOT NULL,
      created_at timestamptz NOT NULL,
      PRIMARY KEY (account_biz_id, workspace_biz_id, operation, request_id)
    )`,
    `CREATE INDEX command_places_at ON command_places (created_at)`,
  ]),
]
