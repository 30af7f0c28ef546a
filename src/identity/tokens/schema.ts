import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { Portal, SessionId } from '../../kernel/index.ts'

interface RefreshTokensTable {
  tokenDigest: Uint8Array
  portal: Portal
  sessionBizId: SessionId
  parentDigest: Uint8Array | null
  createdAt: Timestamp
  expiresAt: Timestamp
  usedAt: NullableTimestamp
  /** Encrypted. Returned again if the token is presented again while the successor is unused. */
  successor: Uint8Array | null
}

interface SigningKeysTable {
  kid: string
  algorithm: 'EdDSA'
  /** SubjectPublicKeyInfo, DER. */
  publicKey: Uint8Array
  /** PKCS #8, DER, encrypted. */
  privateKey: Uint8Array
  createdAt: Timestamp
  activatesAt: Timestamp
  /** When the last token signed by this key expires. Null for the newest key. */
  retiresAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    refresh_tokens: RefreshTokensTable
    signing_keys: SigningKeysTable
  }
}

/** Private keys are encrypted (platform/crypto/secret-box.ts), so that replicas can share them. */
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
