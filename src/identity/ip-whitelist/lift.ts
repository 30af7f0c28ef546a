import { inTransaction, type Tx } from '../../database/index.ts'
import type { AccountId, Portal } from '../../kernel/index.ts'
import { accountByEmail, lockAccount } from '../accounts/store.ts'
import { createNotices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { setWhitelistEnabled } from './store.ts'

/**
 * Puts an account's whitelist out of force for whoever runs the deployment: an owner whom it keeps out cannot. The set
 * stays, the owner is told by mail, and `record` is part of the transaction. Whether it was in force; undefined where
 * there is no such account.
 */
export const liftWhitelist = (
  { database, clock, ids }: Pick<IdentityPorts, 'database' | 'clock' | 'ids'>,
  { portal, email }: { portal: Portal; email: string },
  record: (tx: Tx, accountId: AccountId) => Promise<void>,
): Promise<boolean | undefined> =>
  inTransaction(database, async (tx) => {
    const named = await accountByEmail(tx, portal, email)
    const account = named && (await lockAccount(tx, portal, named.id))
    if (!account?.ipWhitelistEnabled) return account && false
    const now = clock.now()
    await setWhitelistEnabled(tx, portal, account.id, false, now)
    const nowhere = { clientIp: '-', userAgent: '' }
    await createNotices(ids).credentialChanged(tx, account, 'IP_WHITELIST_DISABLED', nowhere, now)
    await record(tx, account.id)
    return true
  })
