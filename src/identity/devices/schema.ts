import type { Timestamp } from '../../database/index.ts'
import type { AccountId } from '../../kernel/index.ts'

interface KnownDevicesTable {
  accountBizId: AccountId
  clientDigest: Uint8Array
  firstSeenAt: Timestamp
  lastSeenAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    known_devices: KnownDevicesTable
  }
}

export const devices = [
  `CREATE TABLE known_devices (
    account_biz_id uuid NOT NULL REFERENCES accounts,
    client_digest bytea NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    PRIMARY KEY (account_biz_id, client_digest)
  )`,
  `CREATE INDEX known_devices_age ON known_devices (last_seen_at)`,
]
