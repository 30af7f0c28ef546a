import { type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AccountId, BizId, WorkspaceId } from '../../kernel/index.ts'
import { recordChanges } from '../../platform/events/index.ts'
import { type KeyedColumns, textOf } from '../../platform/key-rotation/index.ts'
import type { WithdrawalChannelStatus } from './contract.ts'

interface WithdrawalChannelsTable {
  workspaceBizId: WorkspaceId
  bizId: BizId<'withdrawalChannel'>
  channelType: 'BANK' | 'CRYPTO'
  currency: string
  country: string
  accountHolderName: string
  maskedAccount: string
  /** Encrypted by SecretBox with the purpose `withdrawal-account` and the context `biz_id`. */
  accountSealed: Uint8Array
  /** Bars equal accounts that are inserted at the same time. Rows of earlier releases and keys have other digests. */
  accountDigest: Uint8Array
  bankCode: string | null
  network: string | null
  channelStatus: WithdrawalChannelStatus
  /** A suspended channel gets this status back. Null for other channels. */
  suspendedStatus: 'PENDING_VERIFICATION' | 'ACTIVE' | null
  rejectReason: string | null
  createdBy: AccountId
  verifiedBy: AccountId | null
  /** The member who reactivated the channel last. */
  enabledBy: AccountId | null
  enabledAt: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    withdrawal_channels: WithdrawalChannelsTable
  }
}

const channels = [
  `CREATE TABLE withdrawal_channels (
    workspace_biz_id uuid NOT NULL REFERENCES workspaces,
    biz_id uuid NOT NULL,
    channel_type text NOT NULL CHECK (channel_type IN ('BANK', 'CRYPTO')),
    currency text NOT NULL,
    country text NOT NULL,
    account_holder_name text NOT NULL,
    masked_account text NOT NULL,
    account_sealed bytea NOT NULL,
    account_digest bytea NOT NULL,
    bank_code text,
    network text,
    channel_status text NOT NULL
      CHECK (channel_status IN ('PENDING_VERIFICATION', 'ACTIVE', 'DISABLED', 'REJECTED', 'SUSPENDED')),
    suspended_status text CHECK (suspended_status IN ('PENDING_VERIFICATION', 'ACTIVE')),
    reject_reason text,
    created_by uuid NOT NULL,
    verified_by uuid,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_biz_id, biz_id),
    CHECK ((channel_status = 'SUSPENDED') = (suspended_status IS NOT NULL))
  )`,
  `CREATE UNIQUE INDEX withdrawal_channels_once ON withdrawal_channels (workspace_biz_id, account_digest)
    WHERE channel_status IN ('PENDING_VERIFICATION', 'ACTIVE', 'SUSPENDED')`,
  `CREATE INDEX withdrawal_channels_creator ON withdrawal_channels (created_by, created_at)`,
  `CREATE INDEX withdrawal_channels_biz_id ON withdrawal_channels (biz_id)`,
  `CREATE INDEX withdrawal_channels_status ON withdrawal_channels (channel_status, created_at)`,
]

/**
 * Locks the channel in share mode, so that it cannot be disabled while a withdrawal is created, approved or
 * completed. Without an active channel, the command fails with SQLSTATE PW001.
 */
const guards = [
  `CREATE FUNCTION withdrawal_channels_require() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM FROM withdrawal_channels
      WHERE workspace_biz_id = NEW.workspace_biz_id AND biz_id = (NEW.data->>'withdrawalChannelBizId')::uuid
        AND currency = NEW.data->>'currency' AND channel_status = 'ACTIVE'
        FOR SHARE;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'order % has no active channel', NEW.biz_id USING ERRCODE = 'PW001';
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER withdrawal_channels_require AFTER INSERT ON orders
    FOR EACH ROW WHEN (NEW.order_type = 'WITHDRAWAL') EXECUTE FUNCTION withdrawal_channels_require()`,
  `CREATE TRIGGER withdrawal_channels_still AFTER UPDATE OF status ON orders
    FOR EACH ROW WHEN (NEW.order_type = 'WITHDRAWAL' AND OLD.status <> NEW.status
      AND NEW.status IN ('PROCESSING', 'COMPLETED'))
    EXECUTE FUNCTION withdrawal_channels_require()`,
]

export const migrations = [
  sqlMigration('001-baseline', [...channels, ...guards]),
  // For operators.
  sqlMigration('002-lists', [
    `CREATE INDEX IF NOT EXISTS withdrawal_channels_created ON withdrawal_channels (created_at, biz_id)`,
    `CREATE INDEX IF NOT EXISTS withdrawal_channels_changed ON withdrawal_channels (updated_at, biz_id)`,
  ]),
  sqlMigration('003-enabled', [
    `ALTER TABLE withdrawal_channels ADD COLUMN enabled_by uuid, ADD COLUMN enabled_at timestamptz`,
    `CREATE INDEX IF NOT EXISTS withdrawal_channels_enabled ON withdrawal_channels (enabled_by)
      WHERE enabled_by IS NOT NULL`,
  ]),
  sqlMigration(
    '004-events',
    recordChanges(
      'withdrawal_channels',
      ['channel_status'],
      [
        ...[
          'biz_id',
          'workspace_biz_id',
          'channel_type',
          'currency',
          'country',
          'account_holder_name',
          'masked_account',
        ],
        ...['bank_code', 'network', 'channel_status', 'reject_reason', 'created_by', 'verified_by'],
        ...['created_at', 'updated_at'],
      ],
    ),
  ),
]

export const keyedColumns: KeyedColumns = {
  sealed: [
    {
      label: 'payout accounts',
      table: 'withdrawal_channels',
      column: 'accountSealed',
      key: ['workspaceBizId', 'bizId'],
      purpose: 'withdrawal-account',
      contextOf: (row) => textOf(row, 'bizId'),
    },
  ],
  digests: [],
}
