import { type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, BizId } from '../../kernel/index.ts'

export interface ProvisionedPeopleTable {
  accountBizId: AccountId
  providerId: string
  /** As sent. Comparisons use `user_name_key`. */
  userName: string
  userNameKey: string
  externalId: string | null
  formattedName: string | null
  givenName: string | null
  familyName: string | null
  displayName: string | null
  /** Whether the provider has suspended the account, so that it can make it active again. */
  suspendedByProvider: boolean
  deletedAt: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

export interface ProvisionedGroupsTable {
  bizId: BizId<'provisionedGroup'>
  providerId: string
  displayName: string
  displayNameKey: string
  externalId: string | null
  createdAt: Timestamp
  updatedAt: Timestamp
}

interface ProvisionedGroupMembersTable {
  groupBizId: BizId<'provisionedGroup'>
  accountBizId: AccountId
}

declare module '../../database/tables.ts' {
  interface Tables {
    provisioned_people: ProvisionedPeopleTable
    provisioned_groups: ProvisionedGroupsTable
    provisioned_group_members: ProvisionedGroupMembersTable
  }
}

/** An account has one provider. A deleted person keeps the external id, under which the provider can create it again. */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE provisioned_people (
      account_biz_id uuid PRIMARY KEY REFERENCES accounts,
      provider_id text NOT NULL,
      user_name text NOT NULL,
      user_name_key text NOT NULL,
      external_id text,
      formatted_name text,
      given_name text,
      family_name text,
      display_name text,
      suspended_by_provider boolean NOT NULL,
      deleted_at timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      UNIQUE (provider_id, external_id)
    )`,
    `CREATE UNIQUE INDEX provisioned_people_name ON provisioned_people (provider_id, user_name_key)
      WHERE deleted_at IS NULL`,
    `CREATE INDEX provisioned_people_list ON provisioned_people (provider_id, created_at, account_biz_id)
      WHERE deleted_at IS NULL`,
    `CREATE TABLE provisioned_groups (
      biz_id uuid PRIMARY KEY,
      provider_id text NOT NULL,
      display_name text NOT NULL,
      display_name_key text NOT NULL,
      external_id text,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      UNIQUE (provider_id, display_name_key),
      UNIQUE (provider_id, external_id)
    )`,
    `CREATE TABLE provisioned_group_members (
      group_biz_id uuid NOT NULL REFERENCES provisioned_groups ON DELETE CASCADE,
      account_biz_id uuid NOT NULL REFERENCES provisioned_people,
      PRIMARY KEY (group_biz_id, account_biz_id)
    )`,
    `CREATE INDEX provisioned_group_members_account ON provisioned_group_members (account_biz_id)`,
  ]),
]
