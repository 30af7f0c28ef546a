import { afterAll, beforeAll, expect, test } from 'vitest'
import { operatorPermissions, workspacePermissions } from '../../src/contract/index.ts'
import { grantOperators } from '../../src/identity/index.ts'
import { type AccountId, formatMoney } from '../../src/kernel/index.ts'
import { createLedger, type Ledger } from '../../src/ledger/index.ts'

import { systemIds } from '../../src/platform/runtime/index.ts'
import { developmentIds, type SeedPorts, seedDevelopment } from '../../src/seed/development.ts'
import { callerOf, createWorld, insertAccount, merchant, types, type World } from '../banking/world.ts'

let world: World
let ledger: Ledger
let ports: SeedPorts
const accounts = new Map<string, AccountId>()

beforeAll(async () => {
  world = await createWorld()
  const { database, clock, workspaces } = world
  ledger = createLedger({ database, clock, ids: systemIds, types })
  await ledger.ensureHouseAccounts(['USD', 'EUR'])
  ports = {
    database,
    clock,
    workspacePermissions,
    operatorPermissions,
    additionalPortals: [merchant],
    createAccount: async ({ email, portal }, tx) => {
      const known = accounts.get(email)
      const accountId = known ?? (await insertAccount(tx ?? database, email, clock.now(), portal))
      accounts.set(email, accountId)
      return { accountId, created: known === undefined }
    },
    grantOperators: (grant) => grantOperators(database, grant, clock.now()),
    workspaces: {
      open: workspaces.open,
      openOwn: workspaces.openWithWallets,
      addRole: workspaces.addRole,
      addMember: (tx, member, at) => world.members.memberships.add(tx, { ...member, grantedBy: null }, at),
    },
    hasWallets: true,
    openWallet: (tx, wallet) => ledger.within(tx).openWallet(wallet),
    fund: (funds, tx) => ledger.within(tx).fundWallet({ ...funds, actor: null }),
  }
})
afterAll(() => world.close())

function account(email: string): AccountId {
  const found = accounts.get(email)
  if (!found) throw new Error(`${email} was not created`)
  return found
}

test('seedDevelopment: creates one workspace with members and wallets, also if it runs several times in parallel', async () => {
  await seedDevelopment(ports)
  await Promise.all([seedDevelopment(ports), seedDevelopment(ports)])
  expect([...accounts.keys()].sort()).toEqual([
    'checker@demo.test',
    'member@demo.test',
    'merchant@demo.test',
    'operator@demo.test',
    'owner@demo.test',
  ])
  const wallets = await ledger.listWallets(developmentIds.workspace)
  const rows = await Promise.all(
    wallets.map(async ({ bizId, walletName, currency, isDefault }) => {
      const balance = await ledger.readBalance({ wallet: bizId, workspace: developmentIds.workspace })
      return [walletName, currency, isDefault, balance && formatMoney(balance.total)]
    }),
  )
  expect(rows).toEqual([
    ['Main USD', 'USD', true, '10000.00'],
    ['Main EUR', 'EUR', true, '10000.00'],
    ['Savings USD', 'USD', false, '0.00'],
  ])
  const owner = await world.members.enter(callerOf(account('owner@demo.test')), null)
  const member = await world.members.enter(callerOf(account('member@demo.test')), null)
  expect([owner.id, member.id]).toEqual([developmentIds.workspace, developmentIds.workspace])
  expect([owner.isOwner, member.isOwner]).toEqual([true, false])
  expect(member.permissions.has('transfer:create')).toBe(true)
  expect(member.permissions.has('role:manage')).toBe(false)
  const own = await world.members.enter(callerOf(account('merchant@demo.test'), merchant), null)
  expect(own.isOwner).toBe(true)
  expect(own.id).not.toBe(developmentIds.workspace)
})
