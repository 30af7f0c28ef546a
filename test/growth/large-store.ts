import { type RawBuilder, sql } from 'kysely'
import type { Database, Tx } from '../../src/database/index.ts'
import { addMs, bizId, type Instant, toInstant } from '../../src/kernel/index.ts'

/** Kinds of ids, as the first digits of a UUID. */
const prefixes = {
  account: '01990001',
  workspace: '01990002',
  sandbox: '01990003',
  role: '01990004',
  wallet: '01990005',
  recharge: '01990006',
  received: '01990007',
  sent: '01990008',
  rare: '01990009',
  invitation: '0199000a',
  house: '0199000b',
} as const
type Kind = keyof typeof prefixes

function idText(kind: Kind, number: number): string {
  return `${prefixes[kind]}-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}

function id(kind: Kind, number: string): RawBuilder<unknown> {
  return sql.raw(`('${prefixes[kind]}-0000-7000-8000-' || lpad(to_hex(${number}), 12, '0'))::uuid`)
}

/** Workspace 0 pays and is paid by each other workspace, and has all accounts as members. */
export const large = {
  account: bizId<'account'>(idText('account', 1)),
  workspace: bizId<'workspace'>(idText('workspace', 0)),
  wallet: bizId<'wallet'>(idText('wallet', 0)),
  order: bizId<'order'>(idText('sent', 1)),
}

/** The accounts in one part of the store have consecutive numbers. */
export interface Part {
  first: number
  last: number
}

const start = toInstant(Date.UTC(2026, 0, 1))
export function createdAt(account: number): Instant {
  return addMs(start, account * 10_000)
}
function at(seconds: string): RawBuilder<unknown> {
  return sql.raw(`(to_timestamp(${start / 1_000}) + (n * 10 + ${seconds}) * interval '1 second')`)
}
/** Changes have another order than creations. */
const changed = sql.raw(`(to_timestamp(${start / 1_000}) + (n * 10 + n::bigint * 7919 % 100003) * interval '1 second')`)
function numbers({ first, last }: Part) {
  return sql`generate_series(${first}::int, ${last}::int) AS n`
}

async function insertParties(tx: Tx, part: Part): Promise<void> {
  await sql`
    INSERT INTO accounts (biz_id, portal, institution_biz_id, account_status, email, email_canonical, account_name,
      default_language, default_timezone, default_country, created_at, updated_at)
    SELECT ${id('account', 'n')}, CASE n % 200 WHEN 1 THEN 'SYSTEM' ELSE 'CONSUMER' END, ${id('house', '0')},
      CASE n % 200 WHEN 2 THEN 'SUSPENDED' ELSE 'ACTIVE' END, 'account-' || n || '@example.com',
      'account-' || n || '@example.com', 'Person ' || n, 'en', 'UTC', 'DE', ${at('0')}, ${changed}
      FROM ${numbers(part)}`.execute(tx)
  await sql`
    INSERT INTO workspaces (biz_id, institution_biz_id, workspace_name, workspace_timezone, workspace_status,
      workspace_kind, created_at, updated_at)
    SELECT ${id('workspace', 'n')}, ${id('house', '0')}, 'Workspace ' || n, 'UTC',
      CASE n % 200 WHEN 2 THEN 'FROZEN' ELSE 'ACTIVE' END, 'LIVE', ${at('0')}, ${changed} FROM ${numbers(part)}
    UNION ALL
    SELECT ${id('sandbox', 'n')}, ${id('house', '0')}, 'Sandbox ' || n, 'UTC', 'ACTIVE', 'SANDBOX', ${at('0')}, ${changed}
      FROM ${numbers(part)} WHERE n % 20 = 0`.execute(tx)
  await sql`
    INSERT INTO roles (biz_id, workspace_biz_id, role_name, description, role_type, permission_codes, created_at,
      updated_at)
    SELECT ${id('role', 'n')}, ${id('workspace', 'n')}, 'Owner', '', 'OWNER', '{}', ${at('0')}, ${at('0')}
      FROM ${numbers(part)}`.execute(tx)
  await sql`
    INSERT INTO memberships (workspace_biz_id, account_biz_id, role_biz_id, join_source, is_default, created_at,
      updated_at)
    SELECT ${id('workspace', 'n')}, ${id('account', 'n')}, ${id('role', 'n')}, 'REGISTRATION', true, ${at('0')}, ${changed}
      FROM ${numbers(part)} WHERE n > 0
    UNION ALL
    SELECT ${id('workspace', '0')}, ${id('account', 'n')}, ${id('role', '0')}, 'INVITATION', false, ${at('0')}, ${changed}
      FROM ${numbers(part)}`.execute(tx)
  await sql`
    INSERT INTO invitations (workspace_biz_id, biz_id, invitee_email, role_biz_id, role_name, inviter_biz_id,
      invitation_status, expires_at, created_at, updated_at)
    SELECT ${id('workspace', '0')}, ${id('invitation', 'n')}, 'account-' || n || '@example.com', ${id('role', '0')},
      'Owner', ${id('account', '0')}, CASE n % 2000 WHEN 7 THEN 'PENDING' ELSE 'ACCEPTED' END,
      CASE n % 2000 WHEN 7 THEN 'infinity' ELSE ${at('0')} + interval '7 days' END, ${at('0')}, ${changed}
      FROM ${numbers(part)}`.execute(tx)
}

const history = sql.raw(
  `jsonb_build_array(jsonb_build_object('status', status, 'at', iso_utc(at), 'actorBizId', NULL, 'reason', NULL))`,
)

/** `rows` selects the id, parties, wallets, type, status and creation time of orders. */
async function insertOrders(tx: Tx, rows: RawBuilder<unknown>): Promise<void> {
  await sql`
    INSERT INTO orders (workspace_biz_id, biz_id, counterparty_workspace_biz_id, order_type, order_no, status,
      source_wallet_biz_id, target_wallet_biz_id, data, history, workspace_kind, created_at, updated_at)
    SELECT workspace, id, nullif(counterparty, workspace), type, id::text, status, source, target,
      '{"amount": "100", "currency": "USD", "feeAmount": "0", "expiresAt": "2100-01-01T00:00:00.000Z"}', ${history}, kind,
      at, at + n::bigint * 7919 % 100003 * interval '1 second'
      FROM (${rows}) AS made (n, workspace, id, counterparty, type, status, source, target, kind, at)`.execute(tx)
}

const rareTransfers = ['FAILED', 'PENDING_APPROVAL'] as const
const rareRecharges = ['REJECTED', 'PENDING_PAYMENT', 'EXPIRED'] as const

/** Each account recharges, pays to workspace 0 and is paid back. A few other orders moved no funds. */
async function insertAllOrders(tx: Tx, part: Part): Promise<void> {
  const own = sql`${id('workspace', 'n')}`
  const wallet = sql`${id('wallet', 'n')}`
  await insertOrders(
    tx,
    sql`SELECT n, ${own}, ${id('recharge', 'n')}, NULL::uuid, 'RECHARGE', 'COMPLETED', NULL::uuid, ${wallet}, 'LIVE',
      ${at('1')} FROM ${numbers(part)} WHERE n > 0`,
  )
  await insertOrders(
    tx,
    sql`SELECT n, ${own}, ${id('received', 'n')}, ${large.workspace}::uuid, 'TRANSFER', 'COMPLETED', ${wallet},
      ${large.wallet}::uuid, 'LIVE', ${at('2')} FROM ${numbers(part)} WHERE n > 0`,
  )
  await insertOrders(
    tx,
    sql`SELECT n, ${large.workspace}::uuid, ${id('sent', 'n')}, ${own}, 'TRANSFER', 'COMPLETED', ${large.wallet}::uuid,
      ${wallet}, 'LIVE', ${at('3')} FROM ${numbers(part)} WHERE n > 0`,
  )
  for (const [place, status] of rareTransfers.entries()) {
    const number = `n * 10 + ${place}`
    await insertOrders(
      tx,
      sql`SELECT n, ${own}, ${id('rare', number)}, ${large.workspace}::uuid, 'TRANSFER', ${status}::text, ${wallet},
        ${large.wallet}::uuid, 'LIVE', ${at('4')} FROM ${numbers(part)} WHERE n > 0 AND n % 200 = 5`,
    )
    await insertOrders(
      tx,
      sql`SELECT n, ${large.workspace}::uuid, ${id('rare', `${number} + 2`)}, ${own}, 'TRANSFER', ${status}::text,
        ${large.wallet}::uuid, ${wallet}, 'LIVE', ${at('5')} FROM ${numbers(part)} WHERE n > 0 AND n % 200 = 5`,
    )
  }
  for (const [place, status] of rareRecharges.entries())
    await insertOrders(
      tx,
      sql`SELECT n, ${own}, ${id('rare', `n * 10 + ${4 + place}`)}, NULL::uuid, 'RECHARGE', ${status}::text, NULL::uuid,
        ${wallet}, 'LIVE', ${at('6')} FROM ${numbers(part)} WHERE n > 0 AND n % 200 = 5`,
    )
  await insertOrders(
    tx,
    sql`SELECT n, ${id('sandbox', 'n')}, ${id('rare', 'n * 10 + 7')}, NULL::uuid, 'RECHARGE', 'CANCELLED', NULL::uuid,
      NULL::uuid, 'SANDBOX', ${at('6')} FROM ${numbers(part)} WHERE n % 20 = 0`,
  )
}

function accountsOfLedger({ first, last }: Part) {
  return sql`
  INSERT INTO ledger_accounts (biz_id, workspace_biz_id, kind, currency, balance, sequence, version, last_entry_at,
    created_at, updated_at)
  SELECT ${id('wallet', 'n')}, ${id('workspace', 'n')}, 'WALLET', 'USD', 1000, 3, 3, ${at('3')}, ${at('0')}, ${at('3')}
    FROM generate_series(${first}::int, ${last}::int) AS n WHERE n > 0
  UNION ALL
  SELECT ${id('wallet', '0')}, ${id('workspace', '0')}, 'WALLET', 'USD', 0, 0, 0, NULL, ${at('0')}, ${at('0')}
    FROM generate_series(${first}::int, 0) AS n
  UNION ALL
  SELECT ${id('house', '1')}, NULL, 'CLEARING', 'USD', 0, 0, 0, NULL, ${at('0')}, ${at('0')}
    FROM generate_series(${first}::int, 0) AS n`
}

interface EntryRow {
  account: RawBuilder<unknown>
  sequence: string
  workspace: RawBuilder<unknown>
  amount: string
  balance: string
}

async function insertEntries(tx: Tx, part: Part, order: Kind, seconds: string, rows: EntryRow[]): Promise<void> {
  const flow = order === 'recharge' ? 'RECHARGE' : 'TRANSFER'
  for (const { account, sequence, workspace, amount, balance } of rows)
    await sql`
      INSERT INTO ledger_entries (account_biz_id, sequence, biz_id, workspace_biz_id, transaction_biz_id, order_biz_id,
        currency, amount, balance_after, flow_type, created_at)
      SELECT ${account}, ${sql.raw(sequence)}, gen_random_uuid(), ${workspace}, ${id(order, 'n')}, ${id(order, 'n')}, 'USD',
        ${sql.raw(amount)}, ${sql.raw(balance)}, ${flow}::text, ${at(seconds)} FROM ${numbers(part)} WHERE n > 0`.execute(
      tx,
    )
}

/** The entries balance, so that the ledger check passes. */
async function insertLedger(tx: Tx, part: Part): Promise<void> {
  await accountsOfLedger(part).execute(tx)
  await sql`
    INSERT INTO wallets (biz_id, workspace_biz_id, wallet_name, currency, is_default, created_at, updated_at)
    SELECT ${id('wallet', 'n')}, ${id('workspace', 'n')}, 'USD', 'USD', true, ${at('0')}, ${at('0')}
      FROM ${numbers(part)}`.execute(tx)
  const own = { account: id('wallet', 'n'), workspace: id('workspace', 'n') }
  const hub = { account: id('wallet', '0'), workspace: id('workspace', '0') }
  const clearing = { account: id('house', '1'), workspace: sql`NULL::uuid` }
  await insertEntries(tx, part, 'recharge', '1', [
    { ...own, sequence: '1', amount: '1000', balance: '1000' },
    { ...clearing, sequence: 'n', amount: '-1000', balance: '-1000 * n::bigint' },
  ])
  await insertEntries(tx, part, 'received', '2', [
    { ...own, sequence: '2', amount: '-100', balance: '900' },
    { ...hub, sequence: '2 * n - 1', amount: '100', balance: '100' },
  ])
  await insertEntries(tx, part, 'sent', '3', [
    { ...hub, sequence: '2 * n', amount: '-100', balance: '0' },
    { ...own, sequence: '3', amount: '100', balance: '1000' },
  ])
  const { last } = part
  await sql`
    UPDATE ledger_accounts SET sequence = 2 * ${last}::int, version = 2 * ${last}::int
     WHERE biz_id = ${id('wallet', '0')}`.execute(tx)
  await sql`
    UPDATE ledger_accounts SET sequence = ${last}::int, version = ${last}::int, balance = -1000 * ${last}::bigint
     WHERE biz_id = ${id('house', '1')}`.execute(tx)
}

async function insertRecords(tx: Tx, part: Part): Promise<void> {
  await sql`
    INSERT INTO audit_log (at, portal, actor_biz_id, workspace_biz_id, action, target_biz_id, outcome, request_id,
      client_ip, detail)
    SELECT ${at('0')}, 'CONSUMER', ${id('account', 'n')}, ${id('workspace', '0')}, 'transfers.create', NULL,
      CASE n % 200 WHEN 9 THEN 'REFUSED' ELSE 'SUCCESS' END, n::text, '203.0.113.7', '{}' FROM ${numbers(part)}`.execute(
    tx,
  )
  await sql`
    INSERT INTO login_history (biz_id, portal, account_biz_id, login_at, client_ip, user_agent, login_result)
    SELECT gen_random_uuid(), 'CONSUMER', ${id('account', '1')}, ${at('0')}, '203.0.113.7', '', 1
      FROM ${numbers(part)}`.execute(tx)
}

/** Adds a part. The first part must start at 0. Needs a superuser, because triggers would take an hour. */
export async function growStore(database: Database, part: Part): Promise<void> {
  await database.connection().execute(async (connection) => {
    // VACUUM marks a block as visible to all only once the commit of its rows has been flushed. PostgreSQL stores one
    // position of the log for 32 transactions, so an unflushed commit of the ANALYZE of an earlier table counts, too.
    await sql`SET synchronous_commit = on`.execute(connection)
    await connection.transaction().execute(async (tx) => {
      await sql`SET LOCAL session_replication_role = replica`.execute(tx)
      await insertParties(tx, part)
      await insertAllOrders(tx, part)
      await insertLedger(tx, part)
      await insertRecords(tx, part)
    })
    // As autovacuum does.
    await sql`VACUUM ANALYZE`.execute(connection)
    await sql`RESET synchronous_commit`.execute(connection)
  })
}
