import { sql } from 'kysely'
import type { Tables, Tx } from '../../database/index.ts'
import type { OrderId, WalletId, WorkspaceId } from '../../kernel/index.ts'
import type { WalletStatus } from '../../ledger/contract.ts'
import { endedStatuses } from '../../ledger/index.ts'

/** The balance is in minor units. */
export interface SandboxWallet {
  id: WalletId
  currency: string
  status: WalletStatus
  balance: bigint
  isDefault: boolean
}

/**
 * Locks all ledger accounts, CLEARING included, in the order of their ids, as every command does, to prevent deadlocks.
 */
export async function lockWallets(tx: Tx, workspaceId: WorkspaceId): Promise<SandboxWallet[]> {
  const accounts = await tx
    .selectFrom('ledger_accounts as a')
    .leftJoin('wallets as w', (join) =>
      join.onRef('w.workspaceBizId', '=', 'a.workspaceBizId').onRef('w.bizId', '=', 'a.bizId'),
    )
    .where('a.workspaceBizId', '=', workspaceId)
    .select(['a.bizId as id', 'a.currency', 'a.status', 'a.balance', 'w.isDefault'])
    .orderBy('a.bizId')
    .forNoKeyUpdate('a')
    .execute()
  return accounts.flatMap(({ isDefault, ...account }) => (isDefault === null ? [] : [{ ...account, isDefault }]))
}

export interface OpenOrder {
  id: OrderId
  type: Tables['orders']['orderType']
  status: string
  /** ISO 8601. Null if the order never expires. */
  expiresAt: string | null
  /** The status that ends an order of a type without a life cycle, such as one of a domain that is off. */
  ending: string
  /** Whether the order holds funds. */
  holds: boolean
}

/** Some status changes do not lock a wallet, so locks on wallets are not enough. */
export async function lockOpenOrders(tx: Tx, workspaceId: WorkspaceId): Promise<OpenOrder[]> {
  const rows = await tx
    .selectFrom('orders as o')
    .where('o.workspaceBizId', '=', workspaceId)
    .where('o.status', 'not in', endedStatuses)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('ledger_types as t')
            .select('t.name')
            .where('t.kind', '=', 'ORDER')
            .whereRef('t.name', '=', 'o.orderType')
            .where(sql<boolean>`(t.statuses->>o.status)::boolean`),
        ),
      ),
    )
    .select((eb) => [
      'o.bizId as id',
      'o.orderType as type',
      'o.status',
      sql<string | null>`o.data->>'expiresAt'`.as('expiresAt'),
      sql<string>`(SELECT s.status FROM ledger_types t, jsonb_each_text(t.statuses) AS s(status, final)
         WHERE t.kind = 'ORDER' AND t.name = o.order_type AND s.final = 'true'
         ORDER BY s.status <> 'CANCELLED', s.status <> 'FAILED', s.status LIMIT 1)`.as('ending'),
      eb
        .exists(
          eb
            .selectFrom('ledger_holds as h')
            .select('h.bizId')
            .whereRef('h.orderBizId', '=', 'o.bizId')
            .where('h.status', '=', 'HELD'),
        )
        .as('holds'),
    ])
    .orderBy('o.bizId')
    .forNoKeyUpdate('o')
    .execute()
  return rows.map((row) => ({ ...row, holds: row.holds === true }))
}
