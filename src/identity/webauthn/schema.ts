import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal, SessionId } from '../../kernel/index.ts'

export type DeviceType = 'SINGLE_DEVICE' | 'MULTI_DEVICE'

interface PasskeysTable {
  bizId: string
  portal: Portal
  accountBizId: AccountId
  credentialId: Uint8Array
  /** COSE (RFC 9052, 7). */
  publicKey: Uint8Array
  signCount: number
  transports: string[]
  aaguid: string
  deviceType: DeviceType
  backedUp: boolean
  name: string
  createdAt: Timestamp
  lastUsedAt: NullableTimestamp
  /** When a copy was noticed. */
  suspendedAt: NullableTimestamp
  /** Whether it gives the permissions that need a passkey, see `isEnrolled`. */
  enrolled: boolean
}

export type ChallengeKind = 'REGISTER' | 'SIGN_IN' | 'STEP_UP'

interface PasskeyChallengesTable {
  challengeDigest: Uint8Array
  portal: Portal
  kind: ChallengeKind
  clientDigest: Uint8Array
  /** Of a registration and a step-up. Null for a sign-in. */
  sessionBizId: SessionId | null
  /** Of a sign-in after a password. */
  attemptDigest: Uint8Array | null
  /** Of a step-up. */
  nonce: Uint8Array | null
  purposeDigest: Uint8Array | null
  /** The one-time token that allows the registration of a first passkey. */
  enrollmentDigest: Uint8Array | null
  createdAt: Timestamp
  expiresAt: Timestamp
  spentAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    passkeys: PasskeysTable
    passkey_challenges: PasskeyChallengesTable
  }
}

/** `former_factors` also keeps removed passkeys. */
export const passkeys = [
  `CREATE TABLE passkeys (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL,
    account_biz_id uuid NOT NULL REFERENCES accounts,
    credential_id bytea NOT NULL,
    public_key bytea NOT NULL,
    sign_count bigint NOT NULL CHECK (sign_count >= 0),
    transports text[] NOT NULL,
    aaguid text NOT NULL,
    device_type text NOT NULL CHECK (device_type IN ('SINGLE_DEVICE', 'MULTI_DEVICE')),
    backed_up boolean NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL,
    last_used_at timestamptz,
    suspended_at timestamptz
  )`,
  `CREATE UNIQUE INDEX passkeys_credential ON passkeys (portal, credential_id)`,
  `CREATE INDEX passkeys_account ON passkeys (account_biz_id)`,
  `CREATE TABLE passkey_challenges (
    challenge_digest bytea PRIMARY KEY,
    portal text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('REGISTER', 'SIGN_IN', 'STEP_UP')),
    client_digest bytea NOT NULL,
    session_biz_id uuid REFERENCES sessions ON DELETE CASCADE,
    attempt_digest bytea,
    nonce bytea,
    purpose_digest bytea,
    enrollment_digest bytea,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    spent_at timestamptz,
    CHECK ((kind = 'SIGN_IN') = (session_biz_id IS NULL)),
    CHECK ((kind = 'STEP_UP') = (nonce IS NOT NULL)),
    CHECK (kind = 'SIGN_IN' OR attempt_digest IS NULL),
    CHECK (kind = 'STEP_UP' OR purpose_digest IS NULL),
    CHECK (kind = 'REGISTER' OR enrollment_digest IS NULL)
  )`,
  `CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at)`,
  `CREATE INDEX passkey_challenges_session ON passkey_challenges (session_biz_id)`,
  `ALTER TABLE former_factors DROP CONSTRAINT former_factors_method_check`,
  `ALTER TABLE former_factors ADD CONSTRAINT former_factors_method_check
    CHECK (method IN ('OTP', 'BACKUP_CODE', 'PASSKEY'))`,
]

/** Earlier passkeys and sessions do not count: nobody knows whether a token allowed their registration. */
export const enrolledPasskeys = [
  `ALTER TABLE passkeys ADD COLUMN enrolled boolean NOT NULL DEFAULT false`,
  `ALTER TABLE sessions ADD COLUMN enrolled_passkey boolean NOT NULL DEFAULT false`,
]
