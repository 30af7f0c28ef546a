/**
 * Refresh tokens: all tokens of a session form one family. Signing keys: the private half is encrypted
 * (platform/crypto/secret-box.ts), so that replicas can share it.
 */
export const tokens = [
  `CREATE TABLE refresh_tokens (
    token_digest bytea PRIMARY KEY,
    portal text NOT NULL,
    session_biz_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    parent_digest bytea UNIQUE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    successor bytea,
    CHECK ((used_at IS NULL) = (successor IS NULL))
  )`,
  `CREATE INDEX refresh_tokens_session ON refresh_tokens (session_biz_id)`,
  `CREATE INDEX refresh_tokens_expiry ON refresh_tokens (expires_at)`,
  `CREATE TABLE signing_keys (
    kid text PRIMARY KEY,
    algorithm text NOT NULL CHECK (algorithm = 'EdDSA'),
    public_key bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at timestamptz NOT NULL,
    activates_at timestamptz NOT NULL,
    retires_at timestamptz
  )`,
]
