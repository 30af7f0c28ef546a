import { ConfigurationError } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { accountByEmail, type Identity } from '../identity/index.ts'
import { developmentAccounts, developmentPassword, seedDevelopment } from '../seed/development.ts'
import type { Domains } from './domains.ts'
import type { Infrastructure } from './infrastructure.ts'

/** Runs the development seed with the functions that registration and the domains use. */
export const composeSeed = (
  { operatorPermissions, workspacePermissions }: Catalogue,
  infrastructure: Infrastructure,
  identity: Identity,
  { ledger, names, requireService }: Domains,
): Promise<void> => {
  const workspaces = requireService('workspaces')
  const { memberships } = requireService('members')
  return seedDevelopment({
    database: infrastructure.database,
    clock: infrastructure.clock,
    workspacePermissions,
    operatorPermissions,
    createAccount: identity.provideAccount,
    openWorkspace: workspaces.open,
    addRole: workspaces.addRole,
    addMember: (tx, member, at) => memberships.add(tx, member, at),
    hasWallets: names.has('wallets'),
    openWallet: (tx, wallet) => ledger.within(tx).openWallet(wallet),
    fund: (funds, tx) => ledger.within(tx).fundWallet({ ...funds, actor: null }),
  })
}

/**
 * Prevents the start of production on a store whose development accounts can still sign in with the documented
 * password.
 */
export const assertNoSeededAccounts = async ({ database, passwords }: Infrastructure): Promise<void> => {
  const errors: string[] = []
  for (const { portal, email } of developmentAccounts) {
    const account = await accountByEmail(database, portal, email)
    if (account?.status !== 'ACTIVE' || !(await passwords.verify(account.passwordHash, developmentPassword))) continue
    errors.push(`the store holds the development account ${email}`)
  }
  if (errors.length > 0) throw new ConfigurationError(errors)
}
