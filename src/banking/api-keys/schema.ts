import type { ColumnType, Generated } from 'kysely'
import { type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AccountId, BizId, WorkspaceId } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'
import type { KeyedColumns } from '../../platform/key-rotation/index.ts'
import type { PublicJwk } from '../../platform/proofs/index.ts'
import type { ApiKeyCredential, ApiKeyStatus } from './contract.ts'

export interface ApiKeysTable {
  workspaceBizId: WorkspaceId
  bizId: BizId<'apiKey'>
  apiKeyName: string
  keyPrefix: string
  keyLast4: string
  credential: Generated<ApiKeyCredential>
  /** Set for a SECRET. */
  secretDigest: Uint8Array | null
  /** Set for a JWT. */
  publicKey: ColumnType<PublicJwk | null, string | null | undefined>
  /** Of the public key or the certificate. */
  credentialThumbprint: string | null
  /** EXPIRED is never stored, because it is computed from `expires_at`. */
  apiKeyStatus: Exclude<ApiKeyStatus, 'EXPIRED'>
  permissionCodes: string[]
  /** Addresses and CIDR ranges. If empty, any address can use the key. */
  ipAllowlist: string[]
  expiresAt: NullableTimestamp
  lastUsedAt: NullableTimestamp
  lastUsedIp: string | null
  createdBy: AccountId
  /** The operator who disabled the key, until an operator enables it. Null if a member or a recovery did. */
  operatorBizId: AccountId | null
  /** The member who enabled the key last. */
  enabledBy: AccountId | null
  enabledAt: NullableTimestamp
  /** The latest of `warningDays` that was announced. */
  warnedDays: number | null
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** As in `ApiKeysTable`, but outside of workspaces. */
export interface OperatorApiKeysTable
  extends Pick<
    ApiKeysTable,
    | 'apiKeyName'
    | 'keyPrefix'
    | 'keyLast4'
    | 'credential'
    | 'secretDigest'
    | 'publicKey'
    | 'credentialThumbprint'
    | 'apiKeyStatus'
    | 'permissionCodes'
    | 'ipAllowlist'
  > {
  bizId: BizId<'operatorApiKey'>
  expiresAt: Timestamp
  lastUsedAt: NullableTimestamp
  lastUsedIp: string | null
  createdBy: AccountId
  /** The operator who enabled the key last. */
  enabledBy: AccountId | null
  warnedDays: Generated<number | null>
  /** The identity provider for which the key provisions people. Null for other keys. */
  providerId: string | null
  createdAt: Timestamp
  updatedAt: Timestamp
}

/** The columns that lists of both tables show, without the digest of the secret. */
export const keyColumns = [
  'bizId',
  'apiKeyName',
  'keyPrefix',
  'keyLast4',
  'credential',
  'credentialThumbprint',
  'apiKeyStatus',
  'permissionCodes',
  'ipAllowlist',
  'expiresAt',
  'lastUsedAt',
  'lastUsedIp',
  'createdBy',
  'createdAt',
  'updatedAt',
] as const

declare module '../../database/tables.ts' {
  interface Tables {
    api_keys: ApiKeysTable
    operator_api_keys: OperatorApiKeysTable
  }
}

/** Using a key renews its digest. */
export const keyedColumns: KeyedColumns = {
  sealed: [],
  digests: [
    {
      label: 'API keys',
      table: 'api_keys',
      column: 'secretDigest',
      expiresAt: 'expiresAt',
      ended: { column: 'apiKeyStatus', status: 'DELETED' },
    },
    {
      label: 'API keys of operators',
      table: 'operator_api_keys',
      column: 'secretDigest',
      expiresAt: 'expiresAt',
      ended: { column: 'apiKeyStatus', status: 'DELETED' },
    },
  ],
}

/** The store contains a keyed digest of the secret, never the secret. */
export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE api_keys (
      workspace_biz_id uuid NOT NULL REFERENCES workspaces,
      biz_id uuid NOT NULL,
      api_key_name text NOT NULL,
      key_prefix text NOT NULL UNIQUE,
      key_last4 text NOT NULL,
      secret_digest bytea NOT NULL,
      api_key_status text NOT NULL CHECK (api_key_status IN ('ACTIVE', 'DISABLED', 'SUSPENDED', 'DELETED')),
      permission_codes text[] NOT NULL,
      ip_allowlist text[] NOT NULL,
      expires_at timestamptz,
      last_used_at timestamptz,
      last_used_ip text,
      created_by uuid NOT NULL REFERENCES accounts,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_biz_id, biz_id)
    )`,
    `CREATE UNIQUE INDEX api_keys_name ON api_keys (workspace_biz_id, lower(api_key_name))
      WHERE api_key_status <> 'DELETED'`,
    `CREATE INDEX api_keys_creator ON api_keys (created_by)`,
    `CREATE INDEX api_keys_list ON api_keys (workspace_biz_id, created_at)`,
    // Serves the search by prefix. Collation "C" makes it a range of bytes in every database.
    `CREATE INDEX api_keys_prefix ON api_keys (workspace_biz_id, key_prefix COLLATE "C")`,
  ]),
  // For operators.
  sqlMigration('002-lists', [
    `CREATE INDEX IF NOT EXISTS api_keys_created ON api_keys (created_at, biz_id)`,
    `CREATE INDEX IF NOT EXISTS api_keys_changed ON api_keys (updated_at, biz_id)`,
  ]),
  // The audit log knows who disabled a key before this migration. Without it, a member could enable the key.
  sqlMigration('003-operator', [
    `ALTER TABLE api_keys ADD COLUMN operator_biz_id uuid`,
    `UPDATE api_keys k SET operator_biz_id = (
      SELECT CASE WHEN a.action = 'apiKeys.disableAny' THEN a.actor_biz_id END FROM audit_log a
      WHERE a.target_biz_id = k.biz_id::text AND a.outcome = 'SUCCESS'
        AND a.action IN ('apiKeys.disableAny', 'apiKeys.disable', 'apiKeys.enable')
      ORDER BY a.at DESC LIMIT 1
    ) WHERE k.api_key_status IN ('DISABLED', 'SUSPENDED')`,
  ]),
  sqlMigration('004-enabled', [
    `ALTER TABLE api_keys ADD COLUMN enabled_by uuid, ADD COLUMN enabled_at timestamptz`,
    `CREATE INDEX IF NOT EXISTS api_keys_enabled ON api_keys (enabled_by) WHERE enabled_by IS NOT NULL`,
  ]),
  // The keys of a former member must not work again if the member joins again.
  sqlMigration('005-former-members', [
    `CREATE FUNCTION api_keys_of_member() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE api_keys SET api_key_status = 'DELETED', updated_at = greatest(updated_at, clock_timestamp())
      WHERE workspace_biz_id = OLD.workspace_biz_id AND created_by = OLD.account_biz_id AND api_key_status <> 'DELETED';
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER api_keys_end AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION api_keys_of_member()`,
    `UPDATE api_keys k SET api_key_status = 'DELETED', updated_at = greatest(updated_at, clock_timestamp())
      WHERE api_key_status <> 'DELETED' AND NOT EXISTS (
        SELECT FROM memberships m WHERE m.workspace_biz_id = k.workspace_biz_id AND m.account_biz_id = k.created_by)`,
  ]),
  sqlMigration('006-expiry-warnings', [
    `ALTER TABLE api_keys ADD COLUMN warned_days integer`,
    `CREATE INDEX IF NOT EXISTS api_keys_expiry ON api_keys (expires_at) WHERE api_key_status = 'ACTIVE'`,
  ]),
  sqlMigration(
    '007-events',
    recordChanges(
      'api_keys',
      ['api_key_status'],
      [
        ...['biz_id', 'workspace_biz_id', 'api_key_name', 'key_prefix', 'key_last4', 'api_key_status'],
        ...['permission_codes', 'ip_allowlist', 'expires_at', 'last_used_at', 'last_used_ip', 'created_by'],
        ...['created_at', 'updated_at'],
      ],
    ),
  ),
  sqlMigration('008-operator-keys', [
    `CREATE TABLE operator_api_keys (
      biz_id uuid PRIMARY KEY,
      api_key_name text NOT NULL,
      key_prefix text NOT NULL UNIQUE,
      key_last4 text NOT NULL,
      secret_digest bytea NOT NULL,
      api_key_status text NOT NULL CHECK (api_key_status IN ('ACTIVE', 'DISABLED', 'SUSPENDED', 'DELETED')),
      permission_codes text[] NOT NULL,
      ip_allowlist text[] NOT NULL,
      expires_at timestamptz NOT NULL,
      last_used_at timestamptz,
      last_used_ip text,
      created_by uuid NOT NULL REFERENCES accounts,
      enabled_by uuid REFERENCES accounts,
      warned_days integer,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    )`,
    `CREATE UNIQUE INDEX operator_api_keys_name ON operator_api_keys (lower(api_key_name))
      WHERE api_key_status <> 'DELETED'`,
    `CREATE INDEX operator_api_keys_creator ON operator_api_keys (created_by)`,
    `CREATE INDEX operator_api_keys_enabler ON operator_api_keys (enabled_by) WHERE enabled_by IS NOT NULL`,
  ]),
  // Events that were recorded before this migration lack the new columns.
  sqlMigration('009-credentials', [
    ...['api_keys', 'operator_api_keys'].flatMap((table) => [
      `ALTER TABLE ${table}
        ALTER COLUMN secret_digest DROP NOT NULL,
        ADD COLUMN credential text NOT NULL DEFAULT 'SECRET',
        ADD COLUMN public_key jsonb,
        ADD COLUMN credential_thumbprint text,
        ADD CONSTRAINT ${table}_credential CHECK (CASE credential
          WHEN 'SECRET' THEN secret_digest IS NOT NULL AND public_key IS NULL AND credential_thumbprint IS NULL
          WHEN 'JWT' THEN secret_digest IS NULL AND public_key IS NOT NULL AND credential_thumbprint IS NOT NULL
          WHEN 'TLS' THEN secret_digest IS NULL AND public_key IS NULL AND credential_thumbprint IS NOT NULL
          ELSE false END)`,
    ]),
    `DROP TRIGGER api_keys_created_event ON api_keys`,
    `DROP TRIGGER api_keys_changed_event ON api_keys`,
    ...recordChanges(
      'api_keys',
      ['api_key_status'],
      [
        ...['biz_id', 'workspace_biz_id', 'api_key_name', 'key_prefix', 'key_last4', 'credential'],
        ...['credential_thumbprint', 'api_key_status', 'permission_codes', 'ip_allowlist', 'expires_at'],
        ...['last_used_at', 'last_used_ip', 'created_by', 'created_at', 'updated_at'],
      ],
    ),
  ]),
  sqlMigration('010-provisioning', [
    `ALTER TABLE operator_api_keys ADD COLUMN provider_id text,
      ADD CHECK ((provider_id IS NOT NULL) = ('provisioning:manage' = ANY (permission_codes)))`,
  ]),
]
