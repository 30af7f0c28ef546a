import type { Generated, GeneratedAlways } from 'kysely'
import { type NullableTimestamp, type Timestamp, trigramIndexes } from '../../database/index.ts'
import type { AccountId, AccountStatus, Permission, Portal } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'

interface AccountsTable {
  bizId: AccountId
  portal: Portal
  institutionBizId: string
  accountStatus: AccountStatus
  /** As entered. Comparisons use `email_canonical`. */
  email: string
  emailCanonical: string
  /** The canonical address without its sub-address, the same for all accounts of a person. */
  personKey: GeneratedAlways<string>
  emailVerifiedAt: NullableTimestamp
  phone: Generated<string>
  accountName: string
  remark: string | null
  passwordHash: string | null
  passwordChangedAt: NullableTimestamp
  defaultLanguage: string
  defaultTimezone: string
  defaultCountry: string
  maxSessions: Generated<number>
  ssoEnabled: Generated<boolean>
  lastLoginAt: NullableTimestamp
  lastLoginIp: string | null
  ipWhitelistEnabled: Generated<boolean>
  operatorPermissions: Generated<Permission[]>
  createdAt: Timestamp
  updatedAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    accounts: AccountsTable
  }
}

export const accounts = [
  `CREATE TABLE accounts (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL CHECK (portal IN ('CONSUMER', 'SYSTEM')),
    institution_biz_id uuid NOT NULL,
    account_status text NOT NULL CHECK (account_status IN ('PENDING_APPROVAL', 'ACTIVE', 'SUSPENDED', 'REJECTED')),
    email text NOT NULL,
    email_canonical text NOT NULL,
    person_key text NOT NULL GENERATED ALWAYS AS
      (regexp_replace(email_canonical, '^([^+@]+)\\+[^@]*@', '\\1@')) STORED,
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
  // Serves the list and the metric of accounts pending approval.
  `CREATE INDEX accounts_awaiting_approval ON accounts (portal, created_at)
    WHERE account_status = 'PENDING_APPROVAL'`,
  `CREATE INDEX accounts_person ON accounts (person_key)`,
]

/** For operators. Most accounts are active and belong to CONSUMER, so the other ones get small indexes. */
export const accountLists = [
  `CREATE INDEX IF NOT EXISTS accounts_created ON accounts (created_at, biz_id)`,
  `CREATE INDEX IF NOT EXISTS accounts_changed ON accounts (updated_at, biz_id)`,
  `CREATE INDEX IF NOT EXISTS accounts_email ON accounts (email_canonical, biz_id)`,
  // Also serves the metric of accounts pending approval.
  `CREATE INDEX IF NOT EXISTS accounts_status ON accounts (account_status, created_at, biz_id) INCLUDE (portal)
    WHERE account_status <> 'ACTIVE'`,
  `DROP INDEX accounts_awaiting_approval`,
  `CREATE INDEX IF NOT EXISTS accounts_operators ON accounts (created_at, biz_id) WHERE portal = 'SYSTEM'`,
  ...trigramIndexes('accounts', {
    accounts_email_trigrams: 'email_canonical',
    accounts_name_trigrams: 'lower(upper(account_name))',
  }),
]

/** Equal keys share an entry, so that a total reads a tenth of the blocks. */
export const accountTotals = [
  `CREATE INDEX IF NOT EXISTS accounts_status_total ON accounts (account_status) WHERE account_status <> 'ACTIVE'`,
  `CREATE INDEX IF NOT EXISTS accounts_operators_total ON accounts (portal) WHERE portal = 'SYSTEM'`,
]

/** Operators read all of it. */
export const accountEvents = recordChanges(
  'accounts',
  ['account_status', 'operator_permissions'],
  [
    ...['biz_id', 'portal', 'institution_biz_id', 'account_status', 'email', 'phone', 'account_name', 'remark'],
    ...['default_language', 'default_timezone', 'default_country', 'last_login_at', 'operator_permissions'],
    ...['created_at', 'updated_at'],
  ],
)

const format = "CHECK (portal ~ '^[A-Z][A-Z0-9_]{1,31}$') NOT VALID"

/** The configuration declares portals. What is stored satisfies the earlier constraint, and so this one. */
export const accountPortals = ['accounts', 'provider_identities', 'provider_invitations'].flatMap((table) => [
  `ALTER TABLE ${table} DROP CONSTRAINT ${table}_portal_check`,
  `ALTER TABLE ${table} ADD CONSTRAINT ${table}_portal_format ${format}`,
])
