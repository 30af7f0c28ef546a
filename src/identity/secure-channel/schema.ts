import type { Timestamp } from '../../database/index.ts'

interface ChannelKeysTable {
  key_id: string
  public_key: Uint8Array
  private_key: Uint8Array
  created_at: Timestamp
  expires_at: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    channel_keys: ChannelKeysTable
  }
}

/** Private keys are encrypted, so that replicas can share them. */
export const secureChannel = [
  `CREATE TABLE channel_keys (
    key_id text PRIMARY KEY,
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
  )`,
]
