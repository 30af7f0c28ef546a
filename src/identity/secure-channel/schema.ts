import type { Timestamp } from '../../database/index.ts'

interface ChannelKeysTable {
  keyId: string
  publicKey: Uint8Array
  privateKey: Uint8Array
  createdAt: Timestamp
  expiresAt: Timestamp
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
