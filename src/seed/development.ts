import { type Database, inTransaction, type Tx } from '../database/index.ts'
import {
  type AccountId,
  bizId,
  type Clock,
  type Instant,
  type Money,
  type Permission,
  type Portal,
  parseMoney,
  type RoleId,
  type WalletId,
  type WorkspaceId,
} from '../kernel/index.ts'

export interface SeedAccount {
  portal: Portal
  email: string
  password: string
  name: string
  institutionId: string
  operatorPermissions: Permission[]
}

export interface SeedWorkspaces {
  /** Opens no wallets. `created` is false if the workspace exists. */
  open(
    tx: Tx,
    opening: {
      workspaceId: WorkspaceId
      ownerId: AccountId
      name: string
      timezone: string
      kind: 'LIVE'
      joinSource: 'REGISTRATION'
      at: Instant
    },
  ): Promise<{ created: boolean }>
  /** As a registration does. */
  openOwn(
    tx: Tx,
    opening: { ownerId: AccountId; name: string; kind: 'LIVE'; joinSource: 'REGISTRATION'; at: Instant },
  ): Promise<unknown>
  addRole(
    tx: Tx,
    role: { id: RoleId; workspaceId: WorkspaceId; name: string; type: 'CUSTOM'; permissionCodes: Permission[] },
    at: Instant,
  ): Promise<void>
  addMember(
    tx: Tx,
    member: { workspaceId: WorkspaceId; accountId: AccountId; roleId: RoleId; joinSource: 'INVITATION' },
    at: Instant,
  ): Promise<unknown>
}

/** The functions that registration and the domains use, too. */
export interface SeedPorts {
  database: Database
  clock: Clock
  workspacePermissions: readonly Permission[]
  operatorPermissions: readonly Permission[]
  /** The portals of the configuration besides CONSUMER and SYSTEM. Each gets a person with a workspace. */
  additionalPortals: readonly Portal[]
  /** Returns the existing account if the email address has one. */
  createAccount(account: SeedAccount, tx?: Tx): Promise<{ accountId: AccountId; created: boolean }>
  /** Adds permissions to the operators of an institution that lack them. */
  grantOperators(grant: { institutionId: string; permissions: readonly Permission[] }): Promise<void>
  /** Null without the domains `workspaces` and `members`. */
  workspaces: SeedWorkspaces | null
  hasWallets: boolean
  openWallet(
    tx: Tx,
    wallet: {
      bizId: WalletId
      workspaceBizId: WorkspaceId
      walletName: string
      currency: string
      isDefault: boolean
      at: Instant
    },
  ): Promise<void>
  fund(funds: { wallet: WalletId; workspace: WorkspaceId; amount: Money }, tx: Tx): Promise<void>
}

/** Fixed, for examples and tests. */
export const developmentIds = {
  institution: '01990000-0000-7000-8000-000000000001',
  workspace: bizId<'workspace'>('01990000-0000-7000-8000-000000000002'),
  memberRole: bizId<'role'>('01990000-0000-7000-8000-000000000003'),
  mainUsd: bizId<'wallet'>('01990000-0000-7000-8000-000000000004'),
  mainEur: bizId<'wallet'>('01990000-0000-7000-8000-000000000005'),
  savingsUsd: bizId<'wallet'>('01990000-0000-7000-8000-000000000006'),
}

/** Production does not start while an account has this password. */
export const developmentPassword = 'Portico-demo-2026'

const people = [
  ['CONSUMER', 'Owner'],
  ['CONSUMER', 'Member'],
  ['SYSTEM', 'Operator'],
  ['SYSTEM', 'Checker'],
] as const

export const developmentAccounts: readonly { portal: Portal; email: string }[] = people.map(([portal, name]) => ({
  portal,
  email: emailOf(name),
}))

/** The development accounts of a deployment, also of the portals that its configuration adds. */
export function developmentAccountsOf(portals: readonly Portal[]): typeof developmentAccounts {
  return [...developmentAccounts, ...additionalOf(portals).map((portal) => ({ portal, email: emailOf(portal) }))]
}

export function additionalOf(portals: readonly Portal[]): readonly Portal[] {
  return portals.filter((portal) => people.every(([known]) => known !== portal))
}

/** Values for examples, by the names of parameters and members. */
export const developmentValues: ReadonlyMap<string, string> = new Map([
  ['password', developmentPassword],
  ['currentPassword', developmentPassword],
  ...['workspaceBizId', 'workspaceId', 'workspace_id'].map((name) => [name, developmentIds.workspace] as const),
  ...['walletBizId', 'walletId', 'wallet_id', 'sourceWalletBizId'].map(
    (name) => [name, developmentIds.mainUsd] as const,
  ),
  ['targetWalletBizId', developmentIds.savingsUsd],
  ...['roleBizId', 'role_id'].map((name) => [name, developmentIds.memberRole] as const),
])

const wallets = [
  { id: developmentIds.mainUsd, name: 'Main USD', currency: 'USD', isDefault: true, funds: '10000.00' },
  { id: developmentIds.mainEur, name: 'Main EUR', currency: 'EUR', isDefault: true, funds: '10000.00' },
  { id: developmentIds.savingsUsd, name: 'Savings USD', currency: 'USD', isDefault: false, funds: null },
]

/** Idempotent, because it runs at every start. */
export async function seedDevelopment(ports: SeedPorts): Promise<void> {
  const created: { accountId: AccountId }[] = []
  for (const [portal, name] of people) {
    const operatorPermissions = portal === 'SYSTEM' ? [...ports.operatorPermissions] : []
    created.push(await ports.createAccount({ ...personOf(portal, name), operatorPermissions }))
  }
  // An extension that was added later brings new permissions.
  const { institution: institutionId } = developmentIds
  await ports.grantOperators({ institutionId, permissions: ports.operatorPermissions })
  const [owner, member] = created
  if (owner && member && ports.workspaces) await openShared(ports, ports.workspaces, owner.accountId, member.accountId)
  for (const portal of ports.additionalPortals) await createPerson(ports, portal)
}

function emailOf(name: string): string {
  return `${name.toLowerCase()}@demo.test`
}

function personOf(portal: Portal, name: string): SeedAccount {
  const { institution: institutionId } = developmentIds
  const account = { portal, email: emailOf(name), password: developmentPassword, name: `Demo ${name}` }
  return { ...account, institutionId, operatorPermissions: [] }
}

/** The transaction that creates the account opens its workspace. */
function createPerson({ database, clock, createAccount, workspaces }: SeedPorts, portal: Portal): Promise<void> {
  return inTransaction(database, async (tx) => {
    const { accountId: ownerId, created } = await createAccount(personOf(portal, portal), tx)
    const opening = { ownerId, name: `Demo ${portal}`, kind: 'LIVE', joinSource: 'REGISTRATION' } as const
    if (created) await workspaces?.openOwn(tx, { ...opening, at: clock.now() })
  })
}

/** Creates the workspace of both consumers once, even if replicas start concurrently. */
function openShared(
  ports: SeedPorts,
  workspaces: SeedWorkspaces,
  ownerId: AccountId,
  memberId: AccountId,
): Promise<void> {
  return inTransaction(ports.database, async (tx) => {
    const { workspace: workspaceId, memberRole: roleId } = developmentIds
    const at = ports.clock.now()
    const opening = { workspaceId, ownerId, name: 'Demo workspace', timezone: 'UTC', kind: 'LIVE' } as const
    const { created } = await workspaces.open(tx, { ...opening, joinSource: 'REGISTRATION', at })
    if (!created) return
    const permissionCodes = ports.workspacePermissions.filter(
      (code) => code.endsWith(':read') || code === 'transfer:create',
    )
    await workspaces.addRole(tx, { id: roleId, workspaceId, name: 'Member', type: 'CUSTOM', permissionCodes }, at)
    await workspaces.addMember(tx, { workspaceId, accountId: memberId, roleId, joinSource: 'INVITATION' }, at)
    if (ports.hasWallets) await openWallets(ports, tx, at)
  })
}

async function openWallets(ports: SeedPorts, tx: Tx, at: Instant): Promise<void> {
  const workspace = developmentIds.workspace
  for (const { id, name, currency, isDefault, funds } of wallets) {
    await ports.openWallet(tx, {
      bizId: id,
      workspaceBizId: workspace,
      walletName: name,
      currency,
      isDefault,
      at,
    })
    const amount = funds === null ? undefined : parseMoney(funds, currency)
    if (amount) await ports.fund({ wallet: id, workspace, amount }, tx)
  }
}
