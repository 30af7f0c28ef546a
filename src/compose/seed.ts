import { operatorPermissions, workspacePermissions } from '../contract/permissions.ts'
import type { Identity } from '../identity/index.ts'
import { seedDevelopment } from '../seed/development.ts'
import type { Domains } from './domains.ts'
import type { Outside } from './outside.ts'

/** The development seed with the very functions that registration and the domains use. */
export const composeSeed = (outside: Outside, identity: Identity, { ledger, workspaces }: Domains): Promise<void> =>
  seedDevelopment({
    database: outside.database,
    clock: outside.clock,
    workspacePermissions,
    operatorPermissions,
    createAccount: identity.provideAccount,
    openWorkspace: workspaces.open,
    addRole: workspaces.addRole,
    addMember: workspaces.members.add,
    openWallet: (tx, wallet) => ledger.within(tx).openWallet(wallet),
    fund: (funds, tx) => ledger.within(tx).fundWallet(funds),
  })
