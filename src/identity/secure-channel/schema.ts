/** Key pairs of the secure channel. The private half is encrypted, so that replicas can share it. */
export const secureChannel = [
  `CREATE TABLE channel_keys (
    key_id text PRIMARY KEY,
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
  )`,
]
