import type { Generated } from 'kysely'
import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, AccountStatus, Permission, Portal } from '../../kernel/index.ts'

interface AccountsTable {
  biz_id: AccountId
  portal: Portal
  institution_biz_id: string
  account_status: AccountStatus
  /** As entered. Comparisons use `email_canonical`. */
  email: string
  email_canonical: string
  email_verified_at: NullableTimestamp
  phone: Generated<string>
  account_name: string
  remark: string | null
  password_hash: string | null
  password_changed_at: NullableTimestamp
  default_language: string
  default_timezone: string
  default_country: string
  max_sessions: Generated<number>
  sso_enabled: Generated<boolean>
  last_login_at: NullableTimestamp
  last_login_ip: string | null
  ip_whitelist_enabled: Generated<boolean>
  /** Permissions on the SYSTEM portal; empty for consumers. */
  operator_permissions: Generated<Permission[]>
  created_at: Timestamp
  updated_at: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    accounts: AccountsTable
  }
}

/** Accounts. Each belongs to one portal. Only accounts of the SYSTEM portal have operator permissions. */
export const accounts = [
  `CREATE TABLE accounts (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL CHECK (portal IN ('CONSUMER', 'SYSTEM')),
    institution_biz_id uuid NOT NULL,
    account_status text NOT NULL CHECK (account_status IN ('PENDING_APPROVAL', 'ACTIVE', 'SUSPENDED', 'REJECTED')),
    email text NOT NULL,
    email_canonical text NOT NULL,
    email_verified_at timestamptz,
    phone text NOT NULL DEFAULT '',
    account_name text NOT NULL,
    remark text,
    password_hash text,
    password_changed_at timestamptz,
    default_language text NOT NULL,
    default_timezone text NOT NULL,
    default_country text NOT NULL,
    max_sessions integer NOT NULL DEFAULT 5 CHECK (max_sessions BETWEEN 1 AND 100),
    sso_enabled boolean NOT NULL DEFAULT false,
    last_login_at timestamptz,
    last_login_ip text,
    ip_whitelist_enabled boolean NOT NULL DEFAULT false,
    operator_permissions text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (portal, email_canonical),
    CHECK (portal = 'SYSTEM' OR operator_permissions = '{}')
  )`,
  // For the list of accounts pending approval, and for the metric that counts them.
  `CREATE INDEX accounts_awaiting_approval ON accounts (portal, created_at)
    WHERE account_status = 'PENDING_APPROVAL'`,
]
