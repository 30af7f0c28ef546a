import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, BizId, Portal, SessionId } from '../../kernel/index.ts'

interface ProviderIdentitiesTable {
  bizId: BizId<'identity'>
  portal: Portal
  accountBizId: AccountId
  providerId: string
  issuer: string
  /** Null until a provisioned person signs in. */
  subject: string | null
  /** The id under which SCIM provisions the person. */
  externalId: string | null
  createdAt: Timestamp
  /** When the subject became known. */
  linkedAt: NullableTimestamp
  lastSignInAt: NullableTimestamp
}

interface ProviderAttemptsTable {
  tokenDigest: Uint8Array
  portal: Portal
  kind: 'SIGN_IN' | 'LINK' | 'STEP_UP'
  providerId: string
  /** Null for a sign-in. */
  accountBizId: AccountId | null
  sessionBizId: SessionId | null
  clientDigest: Uint8Array
  stateDigest: Uint8Array
  /** Of a step-up that is bound to a command. */
  purposeDigest: Uint8Array | null
  /** The PKCE verifier, the nonce, and the command that a step-up confirms. */
  secret: Uint8Array
  createdAt: Timestamp
  expiresAt: Timestamp
  spentAt: NullableTimestamp
}

interface ProviderInvitationsTable {
  bizId: BizId<'invitation'>
  portal: Portal
  providerId: string
  emailCanonical: string
  invitedBy: AccountId
  createdAt: Timestamp
  expiresAt: Timestamp
  acceptedAt: NullableTimestamp
}

/** Logout tokens that were used. */
interface ProviderLogoutsTable {
  portal: Portal
  providerId: string
  tokenId: string
  expiresAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    provider_identities: ProviderIdentitiesTable
    provider_attempts: ProviderAttemptsTable
    provider_invitations: ProviderInvitationsTable
    provider_logouts: ProviderLogoutsTable
  }
}

export const providers = [
  `CREATE TABLE provider_identities (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL CHECK (portal IN ('CONSUMER', 'SYSTEM')),
    account_biz_id uuid NOT NULL REFERENCES accounts,
    provider_id text NOT NULL,
    issuer text NOT NULL,
    subject text,
    external_id text,
    created_at timestamptz NOT NULL,
    linked_at timestamptz,
    last_sign_in_at timestamptz,
    UNIQUE (portal, issuer, subject),
    UNIQUE (portal, provider_id, external_id),
    UNIQUE (account_biz_id, provider_id),
    CHECK (subject IS NOT NULL OR external_id IS NOT NULL),
    CHECK ((subject IS NULL) = (linked_at IS NULL))
  )`,
  `CREATE TABLE provider_attempts (
    token_digest bytea PRIMARY KEY,
    portal text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('SIGN_IN', 'LINK', 'STEP_UP')),
    provider_id text NOT NULL,
    account_biz_id uuid REFERENCES accounts,
    session_biz_id uuid REFERENCES sessions ON DELETE CASCADE,
    client_digest bytea NOT NULL,
    state_digest bytea NOT NULL,
    purpose_digest bytea,
    secret bytea NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    spent_at timestamptz,
    CHECK ((kind = 'SIGN_IN') = (account_biz_id IS NULL)),
    CHECK ((account_biz_id IS NULL) = (session_biz_id IS NULL)),
    CHECK (kind = 'STEP_UP' OR purpose_digest IS NULL)
  )`,
  `CREATE INDEX provider_attempts_expiry ON provider_attempts (expires_at)`,
  `CREATE INDEX provider_attempts_session ON provider_attempts (session_biz_id) WHERE session_biz_id IS NOT NULL`,
  `CREATE TABLE provider_invitations (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL CHECK (portal IN ('CONSUMER', 'SYSTEM')),
    provider_id text NOT NULL,
    email_canonical text NOT NULL,
    invited_by uuid NOT NULL REFERENCES accounts,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    accepted_at timestamptz
  )`,
  `CREATE UNIQUE INDEX provider_invitations_open ON provider_invitations (portal, provider_id, email_canonical)
    WHERE accepted_at IS NULL`,
  `CREATE INDEX provider_invitations_expiry ON provider_invitations (expires_at)`,
  `CREATE TABLE provider_logouts (
    portal text NOT NULL,
    provider_id text NOT NULL,
    token_id text NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (portal, provider_id, token_id)
  )`,
  `CREATE INDEX provider_logouts_expiry ON provider_logouts (expires_at)`,
  // The session at the provider. A pending sign-in keeps it until its second factor.
  `ALTER TABLE login_sessions ADD COLUMN provider_id text, ADD COLUMN provider_sid text,
    ADD COLUMN provider_token bytea`,
  `ALTER TABLE sessions ADD COLUMN provider_id text, ADD COLUMN provider_sid text, ADD COLUMN provider_token bytea`,
  `CREATE INDEX sessions_provider ON sessions (provider_id, provider_sid)
    WHERE provider_id IS NOT NULL AND ended_at IS NULL`,
]
