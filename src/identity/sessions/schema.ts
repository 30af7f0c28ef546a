import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal, SessionId } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'
import { partitionBy } from '../../platform/partitions/index.ts'

export type SessionEndReason =
  | 'LOGOUT'
  | 'DISPLACED'
  | 'REFRESH_REUSED'
  | 'COOKIE_REUSED'
  | 'TERMINATED'
  | 'PASSWORD_CHANGED'
  | 'ACCOUNT_CLOSED'
  | 'PROVIDER_LOGOUT'

/** The last factor of a sign-in. With PROVIDER, the portal's identity provider authenticated the person. */
export type SignInMethod = 'EMAIL' | 'OTP' | 'BACKUP_CODE' | 'PASSKEY' | 'PROVIDER'

interface SessionsTable {
  bizId: SessionId
  portal: Portal
  accountBizId: AccountId
  clientDigest: Uint8Array
  clientIp: string
  userAgent: string
  loginAt: Timestamp
  lastActivityAt: Timestamp
  idleExpiresAt: Timestamp
  expiresAt: Timestamp
  steppedUpAt: NullableTimestamp
  endedAt: NullableTimestamp
  endReason: SessionEndReason | null
  /** The keyed digest of the browser's cookie. Null for a session that has tokens. */
  cookieDigest: Uint8Array | null
  /** Of the key of a session whose client proves it (RFC 9449). Null if the client hash binds the session. */
  keyThumbprint: string | null
  /** Null for a session that is older than the column. */
  signedInBy: SignInMethod | null
  /** Whether the passkey of the sign-in was enrolled. */
  enrolledPasskey: Generated<boolean>
  /** Of the session at an identity provider that authenticated the person. */
  providerId: string | null
  providerSid: string | null
  /** The sealed ID token. */
  providerToken: Uint8Array | null
}

/** Values of cookies that a newer one has replaced. */
interface FormerCookiesTable {
  cookieDigest: Uint8Array
  portal: Portal
  sessionBizId: SessionId
  replacedAt: Timestamp
  expiresAt: Timestamp
}

interface LoginHistoryTable {
  bizId: string
  portal: Portal
  accountBizId: AccountId
  loginAt: Timestamp
  clientIp: string
  userAgent: string
  loginResult: number
  failureReason: string | null
}

declare module '../../database/tables.ts' {
  interface Tables {
    sessions: SessionsTable
    former_cookies: FormerCookiesTable
    login_history: LoginHistoryTable
  }
}

export const sessions = [
  `CREATE TABLE sessions (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL,
    account_biz_id uuid NOT NULL REFERENCES accounts,
    client_digest bytea NOT NULL,
    client_ip text NOT NULL,
    user_agent text NOT NULL,
    login_at timestamptz NOT NULL,
    last_activity_at timestamptz NOT NULL,
    idle_expires_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    stepped_up_at timestamptz,
    ended_at timestamptz,
    end_reason text,
    CHECK ((ended_at IS NULL) = (end_reason IS NULL))
  )`,
  `CREATE INDEX sessions_live ON sessions (account_biz_id, login_at) WHERE ended_at IS NULL`,
  `CREATE INDEX sessions_expiry ON sessions (expires_at)`,
]

export const cookies = [
  `ALTER TABLE sessions ADD COLUMN cookie_digest bytea`,
  `CREATE UNIQUE INDEX sessions_cookie ON sessions (cookie_digest) WHERE cookie_digest IS NOT NULL`,
  `CREATE TABLE former_cookies (
    cookie_digest bytea PRIMARY KEY,
    portal text NOT NULL,
    session_biz_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
    replaced_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
  )`,
  `CREATE INDEX former_cookies_session ON former_cookies (session_biz_id)`,
  `CREATE INDEX former_cookies_expiry ON former_cookies (expires_at)`,
]

export const signInMethods = [
  `ALTER TABLE sessions ADD COLUMN signed_in_by text
    CHECK (signed_in_by IN ('EMAIL', 'OTP', 'BACKUP_CODE', 'PASSKEY', 'PROVIDER'))`,
]

export const sessionKeys = [
  `ALTER TABLE sessions ADD COLUMN key_thumbprint text,
    ADD CONSTRAINT sessions_key CHECK (key_thumbprint IS NULL OR cookie_digest IS NULL)`,
]

export const loginHistory = [
  `CREATE TABLE login_history (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL,
    account_biz_id uuid NOT NULL REFERENCES accounts,
    login_at timestamptz NOT NULL,
    client_ip text NOT NULL,
    user_agent text NOT NULL,
    login_result integer NOT NULL CHECK (login_result IN (0, 1)),
    failure_reason text,
    CHECK ((login_result = 1) = (failure_reason IS NULL))
  )`,
  `CREATE INDEX login_history_account ON login_history (account_biz_id, login_at DESC)`,
]

/** A unique index covers one partition. The lock lets the check see a concurrent insert of the same id. */
export const loginPartitions = [
  `CREATE FUNCTION login_history_unique() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.biz_id::text, 0));
    IF EXISTS (SELECT FROM login_history WHERE biz_id = NEW.biz_id) THEN
      RAISE EXCEPTION 'the sign-in % is in the history', NEW.biz_id USING ERRCODE = 'unique_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER login_history_unique BEFORE INSERT ON login_history
    FOR EACH ROW EXECUTE FUNCTION login_history_unique()`,
  ...partitionBy('login_history', 'login_at'),
]

/** Not for the deletion of old sessions. */
export const sessionEvents = recordChanges(
  'sessions',
  ['ended_at'],
  ['biz_id', 'portal', 'account_biz_id', 'login_at', 'ended_at', 'end_reason'],
)
