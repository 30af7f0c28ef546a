import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal, SessionId } from '../../kernel/index.ts'

interface OtpFactorsTable {
  accountBizId: AccountId
  portal: Portal
  /** Encrypted. */
  secret: Uint8Array | null
  verifiedAt: NullableTimestamp
  /** Equals `verified_at` if `portico operator create` issued the authenticator. */
  issuedAt: NullableTimestamp
  /** Highest time step whose code was accepted. */
  lastUsedStep: Generated<number>
  /** Encrypted. */
  pendingSecret: Uint8Array | null
  pendingAt: NullableTimestamp
}

interface BackupCodesTable {
  accountBizId: AccountId
  codeDigest: Uint8Array
  portal: Portal
  generatedAt: Timestamp
  /** Equals `generated_at` if `portico operator create` issued the code. */
  issuedAt: NullableTimestamp
  usedAt: NullableTimestamp
}

/** Factors that were replaced or removed, so that a new one does not hide an old one. */
interface FormerFactorsTable {
  accountBizId: AccountId
  portal: Portal
  method: 'OTP' | 'BACKUP_CODE' | 'PASSKEY'
  enrolledAt: Timestamp
  endedAt: Timestamp
  lastUsedAt: NullableTimestamp
}

/** Secrets that a session has just seen. A repeated request shows them again. */
interface ShownSecretsTable {
  accountBizId: AccountId
  portal: Portal
  kind: 'OTP' | 'BACKUP_CODE'
  sessionBizId: SessionId
  /** Encrypted. */
  secret: Uint8Array
  shownAt: Timestamp
  expiresAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    otp_factors: OtpFactorsTable
    shown_secrets: ShownSecretsTable
    backup_codes: BackupCodesTable
    former_factors: FormerFactorsTable
  }
}

/**
 * A new secret is pending until its first code is verified. Until then, the active secret stays valid. Each accepted
 * code raises `last_used_step`, so that a code works once.
 */
export const mfa = [
  `CREATE TABLE otp_factors (
    account_biz_id uuid PRIMARY KEY REFERENCES accounts,
    portal text NOT NULL,
    secret bytea,
    verified_at timestamptz,
    last_used_step bigint NOT NULL DEFAULT 0,
    pending_secret bytea,
    pending_at timestamptz,
    CHECK ((secret IS NULL) = (verified_at IS NULL)),
    CHECK ((pending_secret IS NULL) = (pending_at IS NULL))
  )`,
  `CREATE TABLE backup_codes (
    account_biz_id uuid NOT NULL REFERENCES accounts,
    code_digest bytea NOT NULL,
    portal text NOT NULL,
    generated_at timestamptz NOT NULL,
    used_at timestamptz,
    PRIMARY KEY (account_biz_id, code_digest)
  )`,
]

export const formerFactors = [
  `CREATE TABLE former_factors (
    account_biz_id uuid NOT NULL REFERENCES accounts,
    portal text NOT NULL,
    method text NOT NULL CHECK (method IN ('OTP', 'BACKUP_CODE')),
    enrolled_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    last_used_at timestamptz
  )`,
  `CREATE INDEX former_factors_account ON former_factors (account_biz_id)`,
]

/**
 * Replicas of the previous release do not know `issued_at`, so it counts only while it equals the time of the factor.
 * They recorded an issued authenticator as a former one that ended when it was enrolled.
 */
export const issuedFactors = [
  `ALTER TABLE otp_factors ADD COLUMN issued_at timestamptz`,
  `ALTER TABLE backup_codes ADD COLUMN issued_at timestamptz`,
  `UPDATE otp_factors o SET issued_at = f.enrolled_at FROM former_factors f
    WHERE f.account_biz_id = o.account_biz_id AND f.method = 'OTP'
      AND f.enrolled_at = f.ended_at AND f.enrolled_at = o.verified_at`,
  `UPDATE backup_codes b SET issued_at = f.enrolled_at FROM former_factors f
    WHERE f.account_biz_id = b.account_biz_id AND f.method = 'OTP'
      AND f.enrolled_at = f.ended_at AND f.enrolled_at = b.generated_at`,
]

export const shownSecrets = [
  `CREATE TABLE shown_secrets (
    account_biz_id uuid NOT NULL REFERENCES accounts,
    portal text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('OTP', 'BACKUP_CODE')),
    session_biz_id uuid NOT NULL,
    secret bytea NOT NULL,
    shown_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (account_biz_id, kind)
  )`,
  `CREATE INDEX shown_secrets_expiry ON shown_secrets (expires_at)`,
]
