import { type Kysely, sql } from 'kysely'

/** The gateway's own keys, private halves sealed (platform/crypto/secret-box), so that replicas share them. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE TABLE signing_keys (
      kid text PRIMARY KEY,
      algorithm text NOT NULL CHECK (algorithm = 'EdDSA'),
      public_key bytea NOT NULL,
      private_key bytea NOT NULL,
      created_at timestamptz NOT NULL,
      activates_at timestamptz NOT NULL,
      retires_at timestamptz
    )`.execute(database)
  await sql`
    CREATE TABLE channel_keys (
      key_id text PRIMARY KEY,
      public_key bytea NOT NULL,
      private_key bytea NOT NULL,
      created_at timestamptz NOT NULL,
      expires_at timestamptz NOT NULL
    )`.execute(database)
}
