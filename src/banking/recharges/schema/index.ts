import type { ColumnType } from 'kysely'
import { sqlMigration, type Timestamp } from '../../../database/index.ts'
import type { AccountId, OrderId, WorkspaceId } from '../../../kernel/index.ts'
import { referenceMigrations } from './references.ts'

interface RechargeProofsTable {
  workspaceBizId: WorkspaceId
  orderBizId: OrderId
  /** Hex. */
  sha256: string
  /** A rejection releases the bytes for another recharge. */
  isInUse: boolean
  createdAt: Timestamp
}

interface RechargeReferencesTable {
  /** `LIVE` for all LIVE workspaces together, or the id of a SANDBOX workspace. */
  scope: string
  channelCode: string
  /** In its canonical form. */
  reference: string
  /** 1, unless an operator allowed a further use. */
  useNumber: ColumnType<number, number | undefined>
  workspaceBizId: WorkspaceId
  orderBizId: OrderId
}

interface RechargeReferenceAllowancesTable {
  workspaceBizId: WorkspaceId
  orderBizId: OrderId
  /** In its canonical form. */
  reference: string
  externalReference: string
  reason: string
  allowedBy: AccountId
  createdAt: Timestamp
  usedAt: Timestamp | null
}

declare module '../../../database/tables.ts' {
  interface Tables {
    recharge_reference_allowances: RechargeReferenceAllowancesTable
    recharge_proofs: RechargeProofsTable
    recharge_references: RechargeReferencesTable
  }
}

/** A workspace can use the same bytes for only one recharge. A second one fails with SQLSTATE PR001. */
const proofs = [
  `CREATE TABLE recharge_proofs (
    workspace_biz_id uuid NOT NULL REFERENCES workspaces,
    order_biz_id uuid NOT NULL,
    sha256 text NOT NULL,
    is_in_use boolean NOT NULL DEFAULT true,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_biz_id, order_biz_id)
  )`,
  `CREATE UNIQUE INDEX recharge_proofs_once ON recharge_proofs (workspace_biz_id, sha256) WHERE is_in_use`,
  `CREATE INDEX recharge_proofs_bytes ON recharge_proofs (sha256, created_at)`,
  `CREATE FUNCTION recharge_proofs_submit() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO recharge_proofs (workspace_biz_id, order_biz_id, sha256, created_at)
      VALUES (NEW.workspace_biz_id, NEW.biz_id, NEW.data->>'proofSha256', NEW.updated_at)
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the proof of order % is already used', NEW.biz_id USING ERRCODE = 'PR001';
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER recharge_proofs_submit AFTER UPDATE OF status ON orders
    FOR EACH ROW WHEN (NEW.order_type = 'RECHARGE' AND NEW.status = 'PROOF_SUBMITTED')
    EXECUTE FUNCTION recharge_proofs_submit()`,
  `CREATE FUNCTION recharge_proofs_release() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE recharge_proofs SET is_in_use = false
     WHERE workspace_biz_id = NEW.workspace_biz_id AND order_biz_id = NEW.biz_id;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER recharge_proofs_release AFTER UPDATE OF status ON orders
    FOR EACH ROW WHEN (NEW.order_type = 'RECHARGE' AND NEW.status = 'REJECTED')
    EXECUTE FUNCTION recharge_proofs_release()`,
]

/**
 * A reference confirms one recharge per channel. A second one fails with SQLSTATE PR002. Each sandbox has separate
 * references, so that a test cannot block a payment.
 */
const references = [
  `CREATE TABLE recharge_references (
    scope text NOT NULL,
    channel_code text NOT NULL,
    reference text NOT NULL,
    workspace_biz_id uuid NOT NULL REFERENCES workspaces,
    order_biz_id uuid NOT NULL,
    PRIMARY KEY (scope, channel_code, reference)
  )`,
  `CREATE INDEX recharge_references_workspace ON recharge_references (workspace_biz_id)`,
  `CREATE FUNCTION recharge_references_use() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO recharge_references (scope, channel_code, reference, workspace_biz_id, order_biz_id)
      SELECT CASE workspace_kind WHEN 'SANDBOX' THEN biz_id::text ELSE 'LIVE' END, NEW.data->>'channelCode',
             upper(regexp_replace(NEW.data->>'externalReference', '\\s', '', 'g')), biz_id, NEW.biz_id
        FROM workspaces WHERE biz_id = NEW.workspace_biz_id
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the reference of order % is already used', NEW.biz_id USING ERRCODE = 'PR002';
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER recharge_references_use AFTER UPDATE OF status ON orders
    FOR EACH ROW
    WHEN (NEW.order_type = 'RECHARGE' AND NEW.status = 'COMPLETED' AND NEW.data->>'externalReference' IS NOT NULL)
    EXECUTE FUNCTION recharge_references_use()`,
]

export const migrations = [sqlMigration('001-baseline', [...proofs, ...references]), ...referenceMigrations]
