import type { Database, Tx } from '../../database/index.ts'
import { type Caller, Refusal } from '../../kernel/index.ts'
import type { Account } from './account.ts'
import { accountById, lockAccount } from './store.ts'

const present = (account: Account | undefined): Account => {
  if (!account) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account is gone' })
  return account
}

/** The account of whoever calls. */
export const ownAccount = async (store: Database | Tx, { portal, accountId }: Caller): Promise<Account> =>
  present(await accountById(store, portal, accountId))

/** The same, its row held until the transaction ends. */
export const lockOwnAccount = async (tx: Tx, { portal, accountId }: Caller): Promise<Account> =>
  present(await lockAccount(tx, portal, accountId))
