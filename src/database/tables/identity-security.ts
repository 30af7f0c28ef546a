import type { Generated } from 'kysely'
import type { AccountId, Portal } from '../../kernel/index.ts'
import type { NullableTimestamp, Timestamp } from './columns.ts'

export interface OtpFactorsTable {
  account_biz_id: AccountId
  portal: Portal
  /** Sealed; null until the first secret is verified. */
  secret: Uint8Array | null
  verified_at: NullableTimestamp
  /** The highest time step whose code was spent. */
  last_used_step: Generated<number>
  /** Sealed; set up, and not in force. */
  pending_secret: Uint8Array | null
  pending_at: NullableTimestamp
}

export interface BackupCodesTable {
  account_biz_id: AccountId
  code_digest: Uint8Array
  portal: Portal
  generated_at: Timestamp
  used_at: NullableTimestamp
}

export interface IpWhitelistEntriesTable {
  biz_id: string
  portal: Portal
  account_biz_id: AccountId
  /** As it was given: an address or a CIDR range. */
  address: string
  ip_version: number
  remark: string | null
  /** Its place in the set as it was given. */
  place: number
  created_at: Timestamp
  last_matched_at: NullableTimestamp
}

export type PasswordTokenPurpose = 'INIT' | 'RESET'

export interface PasswordTokensTable {
  token_digest: Uint8Array
  portal: Portal
  account_biz_id: AccountId
  purpose: PasswordTokenPurpose
  created_at: Timestamp
  expires_at: Timestamp
  used_at: NullableTimestamp
}

export interface IdentitySecurityTables {
  otp_factors: OtpFactorsTable
  backup_codes: BackupCodesTable
  ip_whitelist_entries: IpWhitelistEntriesTable
  password_tokens: PasswordTokensTable
}
