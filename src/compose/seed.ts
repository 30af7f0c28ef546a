import { type Configuration, ConfigurationError, portalNames } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import type { DemoSignIn } from '../gateway/index.ts'
import { accountByEmail, grantOperators, type Identity } from '../identity/index.ts'
import type { Portal } from '../kernel/index.ts'
import { mailedSignInCodes, type ReadableOutbox } from '../platform/mail/index.ts'
import { additionalOf, developmentAccountsOf, developmentPassword, seedDevelopment } from '../seed/development.ts'
import type { Domains } from './domains.ts'
import type { Infrastructure } from './infrastructure.ts'

export function composeSeed(
  { operatorPermissions, workspacePermissions }: Catalogue,
  infrastructure: Infrastructure,
  identity: Identity,
  { ledger, names, service }: Domains,
  portals: readonly Portal[],
): Promise<void> {
  const workspaces = service('workspaces')
  const members = service('members')
  return seedDevelopment({
    database: infrastructure.database,
    clock: infrastructure.clock,
    workspacePermissions,
    operatorPermissions,
    additionalPortals: additionalOf(portals),
    createAccount: identity.provideAccount,
    grantOperators: (grant) => grantOperators(infrastructure.database, grant, infrastructure.clock.now()),
    workspaces:
      workspaces && members
        ? {
            open: workspaces.open,
            openOwn: workspaces.openWithWallets,
            addRole: workspaces.addRole,
            addMember: (tx, member, at) => members.memberships.add(tx, { ...member, grantedBy: null }, at),
          }
        : null,
    hasWallets: names.has('wallets'),
    openWallet: (tx, wallet) => ledger.within(tx).openWallet(wallet),
    fund: (funds, tx) => ledger.within(tx).fundWallet({ ...funds, actor: null }),
  })
}

/** Null if emails are sent, because the page cannot read their codes. */
export function demoSignIn(
  { portals, reference, listen }: Pick<Configuration, 'portals' | 'reference' | 'listen'>,
  outbox: ReadableOutbox | null,
): DemoSignIn | null {
  if (!outbox) return null
  const accounts = developmentAccountsOf(portalNames(portals)).filter(
    ({ portal }) => portal === (reference.portal ?? portal),
  )
  const addresses = accounts.map(({ email }) => email)
  return {
    accounts,
    password: developmentPassword,
    mailedCodes: () => mailedSignInCodes(outbox, addresses),
    allowedHosts: listen.operationsAllowedHosts,
  }
}

/** Throws if the documented password of a development account works. */
export async function assertNoSeededAccounts(
  { database, passwords }: Infrastructure,
  { portals }: Pick<Configuration, 'portals'>,
): Promise<void> {
  const errors: string[] = []
  for (const { portal, email } of developmentAccountsOf(portalNames(portals))) {
    const account = await accountByEmail(database, portal, email)
    if (account?.status !== 'ACTIVE' || !(await passwords.verify(account.passwordHash, developmentPassword))) continue
    errors.push(`the store holds the development account ${email}`)
  }
  if (errors.length > 0) throw new ConfigurationError(errors)
}
