import type { NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, Portal } from '../../kernel/index.ts'

interface IpWhitelistEntriesTable {
  bizId: string
  portal: Portal
  accountBizId: AccountId
  /** As entered. */
  address: string
  ipVersion: number
  remark: string | null
  place: number
  createdAt: Timestamp
  lastMatchedAt: NullableTimestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    ip_whitelist_entries: IpWhitelistEntriesTable
  }
}

export const ipWhitelist = [
  `CREATE TABLE ip_whitelist_entries (
    biz_id uuid PRIMARY KEY,
    portal text NOT NULL,
    account_biz_id uuid NOT NULL REFERENCES accounts,
    address text NOT NULL,
    ip_version integer NOT NULL CHECK (ip_version IN (4, 6)),
    remark text,
    place integer NOT NULL,
    created_at timestamptz NOT NULL,
    last_matched_at timestamptz,
    UNIQUE (account_biz_id, place)
  )`,
]
