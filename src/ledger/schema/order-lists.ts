/** Indexes of the first version that those of this migration replace. */
const replaced = ['orders_list', 'orders_received', 'orders_source', 'orders_target', 'orders_open', 'orders_of_all']

const instantTypes = `('TRANSFER', 'EXCHANGE')`
const operatorTypes = `order_type NOT IN ${instantTypes}`
const isReceived = 'counterparty_workspace_biz_id IS NOT NULL'

/**
 * One index for each set and order of reads/orders-store.ts. The conditions on COMPLETED divide the orders: completed
 * ones are most of them, so lists of any other status get a small index.
 */
const indexes: Record<string, string> = {
  orders_created: '(workspace_biz_id, order_type, created_at, biz_id) INCLUDE (status)',
  orders_changed: '(workspace_biz_id, order_type, updated_at, biz_id)',
  orders_status: `(workspace_biz_id, order_type, status, created_at, biz_id) WHERE status <> 'COMPLETED'`,
  orders_received_completed: `(counterparty_workspace_biz_id, order_type, created_at, biz_id)
    WHERE ${isReceived} AND status = 'COMPLETED'`,
  orders_received_changed: `(counterparty_workspace_biz_id, order_type, updated_at, biz_id)
    WHERE ${isReceived} AND status = 'COMPLETED'`,
  orders_received_status: `(counterparty_workspace_biz_id, order_type, status, created_at, biz_id)
    WHERE ${isReceived} AND status <> 'COMPLETED'`,
  // The included columns decide whether a workspace can see an order.
  orders_of_source: `(source_wallet_biz_id, order_type, created_at, biz_id)
    INCLUDE (workspace_biz_id, counterparty_workspace_biz_id, status) WHERE source_wallet_biz_id IS NOT NULL`,
  orders_of_target: `(target_wallet_biz_id, order_type, created_at, biz_id)
    INCLUDE (workspace_biz_id, counterparty_workspace_biz_id, status, source_wallet_biz_id)
    WHERE target_wallet_biz_id IS NOT NULL`,
}

/** For operators, who list these orders of all workspaces. */
const indexesByKind: Record<string, string> = {
  orders_status_of_all: `(order_type, status, workspace_kind, created_at, biz_id) WHERE status <> 'COMPLETED'`,
  orders_of_kind: `(order_type, workspace_kind, created_at, biz_id) INCLUDE (status) WHERE ${operatorTypes}`,
  orders_of_kind_changed: `(order_type, workspace_kind, updated_at, biz_id) WHERE ${operatorTypes}`,
}

/**
 * For lists by number or reference. Operators do not name a workspace, so it is not the first column.
 */
const indexesByReference: Record<string, string> = {
  orders_number: '(order_no)',
  orders_client_reference: `((data->>'clientReference'), workspace_biz_id, created_at, biz_id)
    WHERE data->>'clientReference' IS NOT NULL`,
  orders_external_reference: `((data->>'externalReference'), workspace_biz_id, created_at, biz_id)
    WHERE data->>'externalReference' IS NOT NULL`,
}

/** For operators, who find recharges by letters and digits, and list transfers and exchanges, too. */
const indexesForOperators: Record<string, string> = {
  orders_reference_key: `((data->>'referenceKey'), workspace_biz_id, created_at, biz_id)
    WHERE data->>'referenceKey' IS NOT NULL`,
  orders_instant_of_kind: `(order_type, workspace_kind, created_at, biz_id) INCLUDE (status)
    WHERE order_type IN ${instantTypes}`,
  orders_instant_of_kind_changed: `(order_type, workspace_kind, updated_at, biz_id) WHERE order_type IN ${instantTypes}`,
}

/** Each replaces two. Operators list orders of one type. */
const indexesOfAllTypes: Record<string, string> = {
  orders_by_kind: '(order_type, workspace_kind, created_at, biz_id) INCLUDE (status)',
  orders_by_kind_changed: '(order_type, workspace_kind, updated_at, biz_id)',
}
const replacedPairs = [
  'orders_of_kind',
  'orders_of_kind_changed',
  'orders_instant_of_kind',
  'orders_instant_of_kind_changed',
]

/**
 * For totals. Equal keys share an entry, so a block has 1,300 rows instead of 100. Completed transfers are in none.
 */
const indexesForTotals: Record<string, string> = {
  orders_total: `(order_type, workspace_kind) WHERE ${operatorTypes}`,
  orders_status_total: `(order_type, status, workspace_kind) WHERE status <> 'COMPLETED'`,
  orders_own_total: `(workspace_biz_id, order_type, status) WHERE status <> 'COMPLETED'`,
  orders_received_total: `(counterparty_workspace_biz_id, order_type, status)
    WHERE ${isReceived} AND status <> 'COMPLETED'`,
}

/** For lists by last change, which is the time limit of an order that expired. */
const indexesByChange: Record<string, string> = {
  orders_status_changed: `(order_type, status, workspace_kind, updated_at, biz_id) WHERE status <> 'COMPLETED'`,
  orders_status_expiry: `(order_type, status, workspace_kind, (data->>'expiresAt'), biz_id) WHERE status <> 'COMPLETED'`,
}

/** PostgreSQL takes no statistics from partial indexes, and assumes that each reference has 1 of 200 orders. */
const referenceStatistics = ['clientReference', 'externalReference', 'referenceKey'].map(
  (field) => `CREATE STATISTICS IF NOT EXISTS orders_${field.toLowerCase()} ON (data->>'${field}') FROM orders`,
)

/** The kind of a workspace never changes. */
const kindOfOrder = [
  `ALTER TABLE orders ADD COLUMN workspace_kind text NOT NULL DEFAULT 'LIVE'`,
  // The guards reject an update that is not a step of the order.
  `ALTER TABLE orders DISABLE TRIGGER USER`,
  `UPDATE orders SET workspace_kind = w.workspace_kind
     FROM workspaces w WHERE w.biz_id = orders.workspace_biz_id AND w.workspace_kind <> 'LIVE'`,
  `ALTER TABLE orders ENABLE TRIGGER USER`,
  `DROP TRIGGER orders_one_kind ON orders`,
  `CREATE OR REPLACE FUNCTION orders_one_kind() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.workspace_kind := coalesce(
      (SELECT workspace_kind FROM workspaces WHERE biz_id = NEW.workspace_biz_id), NEW.workspace_kind);
    IF NEW.counterparty_workspace_biz_id IS NOT NULL AND NEW.workspace_kind
       <> (SELECT workspace_kind FROM workspaces WHERE biz_id = NEW.counterparty_workspace_biz_id) THEN
      RAISE EXCEPTION 'order % is between a sandbox and a live workspace', NEW.biz_id
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
  END $$`,
  `CREATE TRIGGER orders_one_kind BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION orders_one_kind()`,
]

/**
 * Keeps the blocks that a list reads independent of the number of orders. Adding the column locks the table for reads,
 * so it follows the indexes that take long.
 */
export const orderLists = [
  ...create(indexes),
  ...kindOfOrder,
  ...create(indexesByKind),
  ...replaced.map((name) => `DROP INDEX ${name}`),
]

export const orderReferences = create(indexesByReference)

export const operatorLists = [...create(indexesForOperators), ...referenceStatistics]

/** The number is unique in a workspace. With the number first, the index also serves lists by number. */
export const orderTotals = [
  ...create({ ...indexesOfAllTypes, ...indexesForTotals, ...indexesByChange }),
  `CREATE UNIQUE INDEX IF NOT EXISTS orders_number_unique ON orders (order_no, workspace_biz_id)`,
  `ALTER TABLE orders DROP CONSTRAINT orders_workspace_biz_id_order_no_key`,
  ...[...replacedPairs, 'orders_number'].map((name) => `DROP INDEX ${name}`),
  `ALTER INDEX orders_number_unique RENAME TO orders_number`,
]

function create(definitions: Record<string, string>): string[] {
  return Object.entries(definitions).map(([name, text]) => `CREATE INDEX IF NOT EXISTS ${name} ON orders ${text}`)
}
