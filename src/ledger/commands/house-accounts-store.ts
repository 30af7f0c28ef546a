import { sql } from 'kysely'
import { type Database, inTransaction } from '../../database/index.ts'
import { type AccountId, type Money, toDate, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import type { HouseParty, Party } from './command.ts'
import { executePosting, type LedgerPorts } from './execute-store.ts'

/*
 * The accounts of the house, and opening funds. Opening funds are posted from the CLEARING account and belong to no
 * order.
 */

const kinds = ['LIQUIDITY', 'FEE', 'CLEARING'] as const

/** Opens the house accounts that do not exist yet: one account of each kind per currency. Idempotent. */
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
  /** Amount to post to the wallet. A negative amount withdraws funds from the wallet. */
  amount: Money
  /** The account that posts the funds. Null if the system posts them. */
  actor: AccountId | null
}

/** Posts opening funds to a wallet, even if the wallet is frozen. Not idempotent: every call posts the funds again. */
export const fundWallet = (ports: LedgerPorts, { wallet, workspace, amount, actor }: Funding): Promise<void> => {
  const { currency, minor } = amount
  const party = { label: 'wallet', wallet, workspace, currency, active: false, currencyField: 'currency' }
  return postOpening(ports, actor, party, minor)
}

/**
 * Returns the total of the opening funds of the house's LIQUIDITY account, in minor units. Returns undefined if the
 * account does not exist. Locks the account, because two replicas that start together could otherwise both post funds.
 * `OPENING` is a literal rather than a parameter: the planner can then use the partial index on opening entries.
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

/** Raises the house's liquidity to the specified amounts, one per currency. Idempotent. Never lowers the liquidity. */
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
