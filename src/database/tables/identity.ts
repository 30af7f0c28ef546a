import type { Generated } from 'kysely'
import type { AccountId, AccountStatus, Permission, Portal, SessionId } from '../../kernel/index.ts'

import type { NullableTimestamp, Timestamp } from './columns.ts'
import type { IdentitySecurityTables } from './identity-security.ts'

export interface AccountsTable {
  biz_id: AccountId
  portal: Portal
  institution_biz_id: string
  account_status: AccountStatus
  /** As it was typed; `email_canonical` is what is compared. */
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
  /** Rights on the SYSTEM portal; empty for consumers. */
  operator_permissions: Generated<Permission[]>
  created_at: Timestamp
  updated_at: Timestamp
}

export type SessionEnd =
  | 'LOGOUT'
  | 'DISPLACED'
  | 'REFRESH_REUSED'
  | 'TERMINATED'
  | 'PASSWORD_CHANGED'
  | 'ACCOUNT_CLOSED'

export interface SessionsTable {
  biz_id: SessionId
  portal: Portal
  account_biz_id: AccountId
  client_digest: Uint8Array
  client_ip: string
  user_agent: string
  login_at: Timestamp
  last_activity_at: Timestamp
  idle_expires_at: Timestamp
  expires_at: Timestamp
  stepped_up_at: NullableTimestamp
  ended_at: NullableTimestamp
  end_reason: SessionEnd | null
}

export interface RefreshTokensTable {
  token_digest: Uint8Array
  portal: Portal
  /** The family: every token of a session descends from its login. */
  session_biz_id: SessionId
  parent_digest: Uint8Array | null
  created_at: Timestamp
  expires_at: Timestamp
  used_at: NullableTimestamp
  /** The next token, sealed: for whoever presents this one again at once. */
  successor: Uint8Array | null
}

export interface KnownDevicesTable {
  account_biz_id: AccountId
  client_digest: Uint8Array
  first_seen_at: Timestamp
  last_seen_at: Timestamp
}

export interface SigningKeysTable {
  kid: string
  algorithm: 'EdDSA'
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array
  /** PKCS #8, DER, sealed. */
  private_key: Uint8Array
  created_at: Timestamp
  activates_at: Timestamp
  /** When the last token that it signed has expired; null while it signs. */
  retires_at: NullableTimestamp
}

export interface ChannelKeysTable {
  key_id: string
  public_key: Uint8Array
  private_key: Uint8Array
  created_at: Timestamp
  expires_at: Timestamp
}

export interface LoginSessionsTable {
  token_digest: Uint8Array
  portal: Portal
  kind: 'LOGIN' | 'REGISTRATION'
  account_biz_id: AccountId | null
  client_digest: Uint8Array
  attempts_left: number
  code_sent_at: NullableTimestamp
  created_at: Timestamp
  expires_at: Timestamp
  spent_at: NullableTimestamp
  /** Of a registration: the address as it was typed, and when its ownership was proved. */
  email: string | null
  email_verified_at: NullableTimestamp
}

export type CodePurpose = 'LOGIN' | 'REGISTRATION' | 'STEP_UP'

export interface OneTimeCodesTable {
  owner: string
  purpose: CodePurpose
  portal: Portal
  code_digest: Uint8Array
  sent_at: Timestamp
  expires_at: Timestamp
  used_at: NullableTimestamp
}

export interface LoginFailuresTable {
  portal: Portal
  subject_digest: Uint8Array
  window_started_at: Timestamp
  failures: number
  /** Since somebody signed in, or since a day without any. */
  in_a_row: number
  blocked_until: NullableTimestamp
}

export interface LoginHistoryTable {
  biz_id: string
  portal: Portal
  account_biz_id: AccountId
  login_at: Timestamp
  client_ip: string
  user_agent: string
  /** 1 for success, 0 for failure. */
  login_result: number
  failure_reason: string | null
}

export interface IdentityTables extends IdentitySecurityTables {
  accounts: AccountsTable
  sessions: SessionsTable
  refresh_tokens: RefreshTokensTable
  known_devices: KnownDevicesTable
  signing_keys: SigningKeysTable
  channel_keys: ChannelKeysTable
  login_sessions: LoginSessionsTable
  one_time_codes: OneTimeCodesTable
  login_failures: LoginFailuresTable
  login_history: LoginHistoryTable
}
