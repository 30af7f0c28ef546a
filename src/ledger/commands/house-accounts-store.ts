import { sql } from 'kysely'
import { type Database, inTransaction } from '../../database/index.ts'
import { type AccountId, type Money, toDate, type WalletId, type WorkspaceId } from '../../kernel/index.ts'
import type { HouseAccount } from '../contract.ts'
import type { HouseParty, Party } from './command.ts'
import { executePosting, type LedgerPorts } from './execute-store.ts'

/* Opening funds are posted from the CLEARING account without an order. */

export async function ensureHouseAccounts(ports: LedgerPorts, currencies: readonly string[]): Promise<void> {
  const { database, clock, ids } = ports
  const existing = await database
    .selectFrom('ledger_accounts')
    .select(['kind', 'currency'])
    .where('workspaceBizId', 'is', null)
    .execute()
  const isOpen = new Set(existing.map(({ kind, currency }) => `${kind} ${currency}`))
  const at = toDate(clock.now())
  // `HouseAccount` lists the names of the table.
  const kinds = [...ports.types.houseAccounts.keys()] as HouseAccount[]
  const missing = currencies.flatMap((currency) =>
    kinds
      .filter((kind) => !isOpen.has(`${kind} ${currency}`))
      .map((kind) => ({
        bizId: ids.next<'wallet'>(),
        workspaceBizId: null,
        kind,
        currency,
        createdAt: at,
        updatedAt: at,
      })),
  )
  if (missing.length === 0) return
  await database
    .insertInto('ledger_accounts')
    .values(missing)
    .onConflict((conflict) => conflict.columns(['kind', 'currency']).where('workspaceBizId', 'is', null).doNothing())
    .execute()
}

/** CLEARING cannot be funded: it stands for the outside world. */
export type FundedAccount = Exclude<HouseAccount, 'CLEARING'>

export interface Funding {
  wallet: WalletId
  workspace: WorkspaceId
  /** A negative amount withdraws funds. */
  amount: Money
  /** Null if the system posts the funds. */
  actor: AccountId | null
}

/** Also funds a frozen wallet. Not idempotent. */
export function fundWallet(ports: LedgerPorts, { wallet, workspace, amount, actor }: Funding): Promise<void> {
  const { currency, minor } = amount
  const party = { label: 'wallet', wallet, workspace, currency, active: false, currencyField: 'currency' }
  return postOpening(ports, actor, party, minor)
}

/** Never lowers the funds. Idempotent. */
export async function provideFunds(
  ports: LedgerPorts,
  account: FundedAccount,
  amounts: readonly Money[],
): Promise<void> {
  for (const { minor, currency } of amounts) {
    await inTransaction(ports.database, async (tx) => {
      const provided = await lockOpeningFunds(tx, account, currency)
      if (provided === undefined || provided >= minor) return
      const party: HouseParty = {
        label: 'funded',
        house: account,
        currency,
        insufficientFunds: 'SYSTEM.INTERNAL_ERROR',
      }
      await postOpening({ ...ports, database: tx }, null, party, minor - provided)
    })
  }
}

function postOpening(ports: LedgerPorts, actor: AccountId | null, to: Party, minor: bigint): Promise<void> {
  return executePosting(ports, {
    actor,
    parties: [clearing(to.currency), to],
    entries: [
      { account: 'clearing', amount: -minor, flowType: 'OPENING' },
      { account: to.label, amount: minor, flowType: 'OPENING' },
    ],
  })
}

function clearing(currency: string): HouseParty {
  return {
    label: 'clearing',
    house: 'CLEARING',
    currency,
    insufficientFunds: 'SYSTEM.INTERNAL_ERROR',
  }
}

/**
 * Locks the account, because two replicas that start together could both post funds. `OPENING` is a literal rather than
 * a parameter, so that the planner can use the partial index.
 */
async function lockOpeningFunds(tx: Database, kind: FundedAccount, currency: string): Promise<bigint | undefined> {
  const account = await tx
    .selectFrom('ledger_accounts')
    .where('workspaceBizId', 'is', null)
    .where('kind', '=', kind)
    .where('currency', '=', currency)
    .select('bizId')
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!account) return undefined
  const { provided } = await tx
    .selectFrom('ledger_entries')
    .where('accountBizId', '=', account.bizId)
    .where('flowType', '=', sql.lit('OPENING'))
    .select(
      sql<bigint>`coalesce(sum(amount), 0)
        + coalesce((SELECT opening FROM ledger_archived_balances WHERE account_biz_id = ${account.bizId}), 0)`.as(
        'provided',
      ),
    )
    .executeTakeFirstOrThrow()
  return provided
}
