import type { Generated } from 'kysely'
import { type NullableTimestamp, sqlMigration, type Timestamp } from '../../database/index.ts'
import type { AccountId, BizId, WorkspaceId } from '../../kernel/index.ts'
import { type KeyedColumns, textOf } from '../../platform/key-rotation/index.ts'
import type { DeliveryStatus, WebhookStatus } from './contract.ts'

export interface WebhooksTable {
  bizId: BizId<'webhook'>
  /** Null for a webhook of the deployment. */
  workspaceBizId: WorkspaceId | null
  url: string
  description: string
  eventTypes: string[]
  webhookStatus: WebhookStatus
  secretSealed: Uint8Array
  /** Also signs until `previousUntil`. */
  previousSealed: Uint8Array | null
  previousUntil: NullableTimestamp
  createdBy: AccountId
  /** Who set the URL last. */
  urlSetBy: AccountId
  urlSetAt: Timestamp
  /** Whose permissions decide what is sent: who created, changed or enabled the webhook, or replaced its secret, last. */
  actsFor: AccountId
  actsSince: Timestamp
  /** Whether `urlSetBy` and `actsFor` used sessions that were started with a passkey that counts for `mfa.required`. */
  byPasskey: Generated<boolean>
  /** The operator who disabled the webhook, until an operator allows it again. */
  operatorBizId: AccountId | null
  /** The first failed attempt since the last success. */
  failingSince: NullableTimestamp
  /** Some time after an attempt that failed or was slow. Until then, attempts must not delay other webhooks. */
  slowUntil: NullableTimestamp
  /** When a job was added that has not started yet. */
  queuedAt: NullableTimestamp
  /** The job that sends its deliveries, one at a time. */
  runBizId: string | null
  runUntil: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

export interface WebhookDeliveriesTable {
  bizId: BizId<'webhookDelivery'>
  webhookBizId: BizId<'webhook'>
  workspaceBizId: WorkspaceId | null
  eventBizId: BizId<'event'>
  eventType: string
  deliveryStatus: DeliveryStatus
  attempts: Generated<number>
  /** Null unless PENDING. */
  nextAttemptAt: NullableTimestamp
  lastAttemptAt: NullableTimestamp
  responseStatus: number | null
  responseBody: string | null
  failure: string | null
  durationMs: number | null
  createdAt: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    webhooks: WebhooksTable
    webhook_deliveries: WebhookDeliveriesTable
  }
}

const secrets = { table: 'webhooks', key: ['bizId'], purpose: 'webhook-secret' } as const

export const keyedColumns: KeyedColumns = {
  sealed: [
    { ...secrets, label: 'webhook secrets', column: 'secretSealed', contextOf: (row) => textOf(row, 'bizId') },
    {
      ...secrets,
      label: 'previous webhook secrets',
      column: 'previousSealed',
      contextOf: (row) => textOf(row, 'bizId'),
    },
  ],
  digests: [],
}

export const migrations = [
  sqlMigration('001-baseline', [
    `CREATE TABLE webhooks (
      biz_id uuid PRIMARY KEY,
      workspace_biz_id uuid REFERENCES workspaces,
      url text NOT NULL,
      description text NOT NULL,
      event_types text[] NOT NULL,
      webhook_status text NOT NULL CHECK (webhook_status IN ('ACTIVE', 'DISABLED', 'FAILED', 'SUSPENDED', 'DELETED')),
      secret_sealed bytea NOT NULL,
      previous_sealed bytea,
      previous_until timestamptz,
      created_by uuid NOT NULL REFERENCES accounts,
      url_set_by uuid NOT NULL REFERENCES accounts,
      url_set_at timestamptz NOT NULL,
      acts_for uuid NOT NULL REFERENCES accounts,
      acts_since timestamptz NOT NULL,
      operator_biz_id uuid,
      failing_since timestamptz,
      slow_until timestamptz,
      queued_at timestamptz,
      run_biz_id uuid,
      run_until timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      CHECK ((previous_sealed IS NULL) = (previous_until IS NULL)),
      CHECK ((run_biz_id IS NULL) = (run_until IS NULL))
    )`,
    `CREATE INDEX webhooks_list ON webhooks (workspace_biz_id, created_at)`,
    `CREATE INDEX webhooks_created ON webhooks (created_at, biz_id)`,
    `CREATE INDEX webhooks_changed ON webhooks (updated_at, biz_id)`,
    `CREATE INDEX webhooks_acts_for ON webhooks (acts_for)`,
    `CREATE INDEX webhooks_url_set_by ON webhooks (url_set_by)`,
    `CREATE TABLE webhook_deliveries (
      biz_id uuid PRIMARY KEY,
      webhook_biz_id uuid NOT NULL REFERENCES webhooks,
      workspace_biz_id uuid,
      event_biz_id uuid NOT NULL,
      event_type text NOT NULL,
      delivery_status text NOT NULL CHECK (delivery_status IN ('PENDING', 'DELIVERED', 'FAILED', 'WITHHELD')),
      attempts integer NOT NULL DEFAULT 0,
      next_attempt_at timestamptz,
      last_attempt_at timestamptz,
      response_status integer,
      response_body text,
      failure text,
      duration_ms integer,
      created_at timestamptz NOT NULL,
      UNIQUE (webhook_biz_id, event_biz_id),
      CHECK ((delivery_status = 'PENDING') = (next_attempt_at IS NOT NULL))
    )`,
    `CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_biz_id, created_at, biz_id)`,
    `CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_biz_id, next_attempt_at)
      WHERE delivery_status = 'PENDING'`,
    `CREATE INDEX webhook_deliveries_waiting ON webhook_deliveries (next_attempt_at) WHERE delivery_status = 'PENDING'`,
    `CREATE INDEX webhook_deliveries_created ON webhook_deliveries (created_at)`,
    // However a webhook ends, what waits is not sent: it may name what the next person cannot read.
    `CREATE FUNCTION withhold_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE webhook_deliveries SET delivery_status = 'WITHHELD', next_attempt_at = NULL
      WHERE webhook_biz_id = NEW.biz_id AND delivery_status = 'PENDING';
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER webhooks_ended AFTER UPDATE OF webhook_status ON webhooks FOR EACH ROW
      WHEN (OLD.webhook_status = 'ACTIVE' AND NEW.webhook_status <> 'ACTIVE') EXECUTE FUNCTION withhold_deliveries()`,
    // A former member set the URL, or the webhook acts for them. Another member must look at it before it sends again.
    `CREATE FUNCTION webhooks_of_member() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE webhooks SET webhook_status = 'SUSPENDED', updated_at = greatest(updated_at, clock_timestamp())
      WHERE workspace_biz_id = OLD.workspace_biz_id AND OLD.account_biz_id IN (acts_for, url_set_by)
        AND webhook_status IN ('ACTIVE', 'DISABLED', 'FAILED');
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER webhooks_end AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION webhooks_of_member()`,
  ]),
  sqlMigration('002-by-passkey', [`ALTER TABLE webhooks ADD COLUMN by_passkey boolean NOT NULL DEFAULT false`]),
]
