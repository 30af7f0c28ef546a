/**
 * Orders and the steps they went through. The tenant leads the key; `counterparty_workspace_biz_id` is the other
 * side of a transfer between workspaces, and null within one. Amounts inside `data` are minor units as text.
 */
const statuses = {
  TRANSFER: ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'FAILED'],
  EXCHANGE: ['PROCESSING', 'COMPLETED', 'FAILED'],
  RECHARGE: ['PENDING_PAYMENT', 'PROOF_SUBMITTED', 'COMPLETED', 'REJECTED', 'CANCELLED', 'EXPIRED'],
  WITHDRAWAL: ['PENDING_APPROVAL', 'PROCESSING', 'COMPLETED', 'CANCELLED', 'REJECTED', 'FAILED'],
}
const quoted = (words: string[]): string => words.map((word) => `'${word}'`).join(', ')
/** Whether an order of a type may have a status, as SQL over the names of the two. */
export const legalStatus = (orderType: string, status: string): string =>
  Object.entries(statuses)
    .map(([type, of]) => `(${orderType} = '${type}' AND ${status} IN (${quoted(of)}))`)
    .join(' OR ')
const terminal = quoted(['COMPLETED', 'FAILED', 'REJECTED', 'CANCELLED', 'EXPIRED'])

export const orders = [
  `CREATE TABLE orders (
    workspace_biz_id uuid NOT NULL,
    biz_id uuid NOT NULL,
    counterparty_workspace_biz_id uuid CHECK (counterparty_workspace_biz_id <> workspace_biz_id),
    order_type text NOT NULL,
    order_no text NOT NULL,
    status text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    source_wallet_biz_id uuid,
    target_wallet_biz_id uuid,
    created_by uuid,
    data jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_biz_id, biz_id),
    UNIQUE (workspace_biz_id, order_no),
    CONSTRAINT orders_status CHECK (${legalStatus('order_type', 'status')})
  )`,
  `CREATE INDEX orders_biz_id ON orders (biz_id)`,
  `CREATE INDEX orders_list ON orders (workspace_biz_id, order_type, created_at, biz_id)`,
  `CREATE INDEX orders_received ON orders (counterparty_workspace_biz_id, order_type, created_at, biz_id)
    WHERE counterparty_workspace_biz_id IS NOT NULL`,
  `CREATE INDEX orders_source ON orders (source_wallet_biz_id, created_at) WHERE source_wallet_biz_id IS NOT NULL`,
  `CREATE INDEX orders_target ON orders (target_wallet_biz_id, created_at) WHERE target_wallet_biz_id IS NOT NULL`,
  `CREATE INDEX orders_open ON orders (order_type, status, created_at) WHERE status NOT IN (${terminal})`,
  `CREATE TABLE order_status_history (
    workspace_biz_id uuid NOT NULL,
    order_biz_id uuid NOT NULL,
    position integer NOT NULL,
    status text NOT NULL,
    at timestamptz NOT NULL,
    actor_biz_id uuid,
    reason text,
    PRIMARY KEY (workspace_biz_id, order_biz_id, position),
    FOREIGN KEY (workspace_biz_id, order_biz_id) REFERENCES orders
  )`,
  `CREATE FUNCTION orders_guard() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF OLD.status IN (${terminal}) AND NEW.status <> OLD.status THEN
      RAISE EXCEPTION 'order % has ended as %', OLD.biz_id, OLD.status USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (NEW.workspace_biz_id, NEW.biz_id, NEW.counterparty_workspace_biz_id, NEW.order_type, NEW.order_no,
        NEW.source_wallet_biz_id, NEW.target_wallet_biz_id, NEW.created_by, NEW.created_at)
       IS DISTINCT FROM
       (OLD.workspace_biz_id, OLD.biz_id, OLD.counterparty_workspace_biz_id, OLD.order_type, OLD.order_no,
        OLD.source_wallet_biz_id, OLD.target_wallet_biz_id, OLD.created_by, OLD.created_at)
       OR NEW.version <> OLD.version + 1 THEN
      RAISE EXCEPTION 'order % cannot become another', OLD.biz_id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER orders_guard BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION orders_guard()`,
  `CREATE TRIGGER orders_keep BEFORE DELETE OR TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()`,
  `CREATE TRIGGER order_status_history_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON order_status_history
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse()`,
]
