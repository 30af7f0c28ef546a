import { ConfigurationError } from '../config/index.ts'
import { operatorPermissions, workspacePermissions } from '../contract/index.ts'
import { accountByEmail, type Identity } from '../identity/index.ts'
import { developmentAccounts, developmentPassword, seedDevelopment } from '../seed/development.ts'
import type { Domains } from './domains.ts'
import type { Outside } from './outside.ts'

/** The development seed with the very functions that registration and the domains use. */
export const composeSeed = (
  outside: Outside,
  identity: Identity,
  { ledger, workspaces, members }: Domains,
): Promise<void> =>
  seedDevelopment({
    database: outside.database,
    clock: outside.clock,
    workspacePermissions,
    operatorPermissions,
    createAccount: identity.provideAccount,
    openWorkspace: workspaces.open,
    addRole: workspaces.addRole,
    addMember: (tx, member, at) => members.memberships.add(tx, member, at),
    openWallet: (tx, wallet) => ledger.within(tx).openWallet(wallet),
    fund: (funds, tx) => ledger.within(tx).fundWallet({ ...funds, actor: null }),
  })

/** Production does not start on accounts whose password is in the documentation, unless they can sign in no more. */
export const refuseSeeded = async ({ database, passwords }: Outside): Promise<void> => {
  const faults: string[] = []
  for (const { portal, email } of developmentAccounts) {
    const account = await accountByEmail(database, portal, email)
    if (account?.status !== 'ACTIVE' || !(await passwords.verify(account.passwordHash, developmentPassword))) continue
    faults.push(`the store holds the development account ${email}`)
  }
  if (faults.length > 0) throw new ConfigurationError(faults)
}
