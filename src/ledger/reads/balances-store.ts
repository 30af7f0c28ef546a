import { sql } from 'kysely'
import type { Database } from '../../database/index.ts'
import { type Instant, type Money, toDate, type WalletId, type WorkspaceId } from '../../kernel/index.ts'

export interface Balance {
  wallet: WalletId
  total: Money
  held: Money
  available: Money
  /** Number of entries, holds made and holds ended. */
  version: number
}

interface Row {
  currency: string
  balance: bigint
  held: bigint
  version: number
}

const toBalance = (wallet: WalletId, { currency, balance, held, version }: Row): Balance => ({
  wallet,
  total: { minor: balance, currency },
  held: { minor: held, currency },
  available: { minor: balance - held, currency },
  version,
})

export interface BalanceScope {
  wallet: WalletId
  workspace: WorkspaceId
}

/** The current balance. Undefined for an unknown wallet and for one of another workspace. */
export const readBalance = async (
  database: Database,
  { wallet, workspace }: BalanceScope,
): Promise<Balance | undefined> => {
  const row = await database
    .selectFrom('ledger_accounts')
    .where('biz_id', '=', wallet)
    .where('workspace_biz_id', '=', workspace)
    .where('kind', '=', 'WALLET')
    .select(['currency', 'balance', 'held', 'version'])
    .executeTakeFirst()
  return row && toBalance(wallet, row)
}

/**
 * The balance at an instant, changes at that instant included: the last entry's balance and number, and the holds open then.
 */
export const readBalanceAt = async (
  database: Database,
  { wallet, workspace }: BalanceScope,
  instant: Instant,
): Promise<Balance | undefined> => {
  const at = toDate(instant)
  const { rows } = await sql<Row>`
    SELECT a.currency, coalesce(e.balance_after, 0) AS balance, h.held, coalesce(e.sequence, 0) + h.changes AS version
      FROM ledger_accounts a
      LEFT JOIN LATERAL (
        SELECT balance_after, sequence FROM ledger_entries
         WHERE account_biz_id = a.biz_id AND created_at <= ${at} ORDER BY created_at DESC, sequence DESC LIMIT 1) e ON true
     CROSS JOIN LATERAL (
        SELECT coalesce(sum(amount) FILTER (WHERE ended_at IS NULL OR ended_at > ${at}), 0) AS held,
               count(*) + count(ended_at) FILTER (WHERE ended_at <= ${at}) AS changes
          FROM ledger_holds WHERE account_biz_id = a.biz_id AND created_at <= ${at}) h
     WHERE a.biz_id = ${wallet} AND a.workspace_biz_id = ${workspace} AND a.kind = 'WALLET'`.execute(database)
  return rows[0] && toBalance(wallet, rows[0])
}
