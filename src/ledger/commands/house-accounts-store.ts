import { sql } from 'kysely'
import { type Database, inTransaction } from '../../database/index.ts'
import { type AccountId, type Money, toDate, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import type { HouseParty, Party } from './command.ts'
import { executePosting, type LedgerPorts } from './execute-store.ts'

/* The house's accounts, and opening funds: postings from CLEARING that belong to no order. */

const kinds = ['LIQUIDITY', 'FEE', 'CLEARING'] as const

/** Opens the missing house accounts: one of each kind per currency. Idempotent. */
export const ensureHouseAccounts = async (
  { database, clock, ids }: LedgerPorts,
  currencies: readonly string[],
): Promise<void> => {
  const existing = await database
    .selectFrom('ledger_accounts')
    .select(['kind', 'currency'])
    .where('workspace_biz_id', 'is', null)
    .execute()
  const isOpen = new Set(existing.map(({ kind, currency }) => `${kind} ${currency}`))
  const at = toDate(clock.now())
  const missing = currencies.flatMap((currency) =>
    kinds
      .filter((kind) => !isOpen.has(`${kind} ${currency}`))
      .map((kind) => ({
        biz_id: ids.next<'wallet'>(),
        workspace_biz_id: null,
        kind,
        currency,
        created_at: at,
        updated_at: at,
      })),
  )
  if (missing.length === 0) return
  await database
    .insertInto('ledger_accounts')
    .values(missing)
    .onConflict((conflict) => conflict.columns(['kind', 'currency']).where('workspace_biz_id', 'is', null).doNothing())
    .execute()
}

const clearing = (currency: string): HouseParty => ({
  label: 'clearing',
  house: 'CLEARING',
  currency,
  insufficientFunds: 'SYSTEM.INTERNAL_ERROR',
})

const postOpening = (ports: LedgerPorts, actor: AccountId | null, to: Party, minor: bigint): Promise<void> =>
  executePosting(ports, {
    actor,
    parties: [clearing(to.currency), to],
    entries: [
      { account: 'clearing', amount: -minor, flowType: 'OPENING' },
      { account: to.label, amount: minor, flowType: 'OPENING' },
    ],
  })

/** Opening funds of a wallet. */
export interface Funding {
  wallet: WalletId
  workspace: WorkspaceId
  /** A negative amount leaves the wallet. */
  amount: Money
  /** Null for the system itself. */
  actor: AccountId | null
}

/** Posts a wallet's opening funds in any status of the wallet. Not idempotent: every call posts again. */
export const fundWallet = (ports: LedgerPorts, { wallet, workspace, amount, actor }: Funding): Promise<void> => {
  const { currency, minor } = amount
  const party = { label: 'wallet', wallet, workspace, currency, active: false, currencyField: 'currency' }
  return postOpening(ports, actor, party, minor)
}

/**
 * The opening funds of the house's liquidity in minor units; undefined without an account. Locks the account, so that
 * concurrent replicas do not both raise it. The literal lets the planner use the index on opening entries.
 */
const lockLiquidity = async (tx: Database, currency: string): Promise<bigint | undefined> => {
  const account = await tx
    .selectFrom('ledger_accounts')
    .where('workspace_biz_id', 'is', null)
    .where('kind', '=', 'LIQUIDITY')
    .where('currency', '=', currency)
    .select('biz_id')
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!account) return undefined
  const { provided } = await tx
    .selectFrom('ledger_entries')
    .where('account_biz_id', '=', account.biz_id)
    .where('flow_type', '=', sql.lit('OPENING'))
    .select(sql<bigint>`coalesce(sum(amount), 0)`.as('provided'))
    .executeTakeFirstOrThrow()
  return provided
}

/** Raises the house's liquidity to the given amounts, one per currency. Idempotent; never lowers it. */
export const provideLiquidity = async (ports: LedgerPorts, amounts: readonly Money[]): Promise<void> => {
  for (const { minor, currency } of amounts) {
    await inTransaction(ports.database, async (tx) => {
      const provided = await lockLiquidity(tx, currency)
      if (provided === undefined || provided >= minor) return
      const party: HouseParty = {
        label: 'liquidity',
        house: 'LIQUIDITY',
        currency,
        insufficientFunds: 'SYSTEM.INTERNAL_ERROR',
      }
      await postOpening({ ...ports, database: tx }, null, party, minor - provided)
    })
  }
}
