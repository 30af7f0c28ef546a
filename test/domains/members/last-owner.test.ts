import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { permissionTable } from '../../../src/contract/index.ts'
import * as memberContract from '../../../src/domains/members/contract.ts'
import * as operatorContract from '../../../src/domains/operators/contract.ts'
import { createOperators } from '../../../src/domains/operators/index.ts'
import * as roleContract from '../../../src/domains/roles/contract.ts'
import { createRoles } from '../../../src/domains/roles/index.ts'
import { freezeOwnWorkspace } from '../../../src/domains/workspaces/index.ts'
import { endSessions } from '../../../src/identity/index.ts'
import {
  type AccountId,
  bizId,
  type HandlerTable,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../../src/kernel/index.ts'
import { Ledger } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { accessSettings, callerOf, createWorld, refusalOf, type World, words } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const rounds = 20
const crowd = 6

/** Whatever comes at once, a workspace keeps an owner who may act as one. */
describe.each(stores)('the last owner on $name', (store) => {
  let world: World
  let handlers: HandlerTable
  let operator: AccountId
  let serial = 0
  beforeAll(async () => {
    world = await createWorld(async () => store)
    const { database, clock } = world
    const shared = { database, clock, words, ids: systemIds, members: world.members.memberships }
    const mailer = { send: async () => undefined, close: async () => undefined }
    const decides = {
      signInUrl: () => '',
      endSessions,
      freezeOwnWorkspace,
      onSessionsEnded: () => undefined,
      mailer,
      ledger: new Ledger(shared),
      withoutTimeouts: world.withoutTimeouts,
    }
    handlers = new Map([
      ...world.handlers,
      ...createRoles({ ...shared, permissionTable: permissionTable.workspace, settings: accessSettings.roles })
        .handlers,
      ...createOperators({ ...shared, ...decides }).handlers,
    ])
    operator = await world.account('operator@example.test', 'SYSTEM')
  })

  interface Shared {
    workspace: WorkspaceId
    owners: AccountId[]
    clerk: RoleId
    /** What an owner may do, as it is looked up before a command. */
    access: WorkspaceAccess
  }
  /** A workspace of several owners, and a role that is none. */
  const shared = async (count: number): Promise<Shared> => {
    const owners: AccountId[] = []
    for (let index = 0; index < count; index++) owners.push(await world.account(`racer${++serial}@example.test`))
    const [first = bizId<'account'>('')] = owners
    const workspace = bizId<'workspace'>(await world.workspaceOf(first))
    await world.database.transaction().execute(async (tx) => {
      const { roleId } = (await world.members.memberships.find(tx, first, workspace)) ?? {}
      if (!roleId) throw new Error('no owner')
      for (const accountId of owners.slice(1)) {
        const member = { workspaceId: workspace, accountId, roleId, joinSource: 'INVITATION' } as const
        await world.members.memberships.add(tx, member, world.clock.now())
      }
    })
    const body = { roleName: 'Clerk', permissionCodes: [] }
    const clerk = await world.call(handlers, roleContract.createRole, { as: first, workspace, body })
    const access = await world.members.enter(callerOf(first), workspace)
    return { workspace, owners, clerk: bizId(clerk.bizId), access }
  }
  const ownersOf = async (workspace: WorkspaceId) => {
    const found = await world.database
      .selectFrom('memberships as m')
      .innerJoin('roles as r', 'r.biz_id', 'm.role_biz_id')
      .where('m.workspace_biz_id', '=', workspace)
      .where('r.role_type', '=', 'OWNER')
      .select(['m.account_biz_id as id', 'm.policy_config as policyConfig'])
      .execute()
    return found
  }
  const leave = ({ access }: Shared, as: AccountId) =>
    refusalOf(world.call(handlers, memberContract.leaveWorkspace, { as, access }))
  const demote = ({ access, clerk }: Shared, as: AccountId, userBizId = as) => {
    const body = { userBizId, roleBizId: clerk }
    return refusalOf(world.call(handlers, roleContract.changeMemberRole, { as, access, body }))
  }
  const limit = ({ workspace }: Shared, userBizId: AccountId, policyConfig: object | null) => {
    const body = { userBizId, policyConfig, reason: 'a court order' }
    const asked = { as: callerOf(operator, 'SYSTEM'), params: { workspace_id: workspace }, body }
    return refusalOf(world.call(handlers, memberContract.limitMember, asked))
  }
  const suspend = (account_id: AccountId) => {
    const asked = { as: callerOf(operator, 'SYSTEM'), params: { account_id }, body: { reason: 'abuse' } }
    return refusalOf(world.call(handlers, operatorContract.suspendAccount, asked))
  }
  const pair = async () => {
    const house = await shared(2)
    const [one = bizId<'account'>(''), other = bizId<'account'>('')] = house.owners
    return { house, one, other }
  }

  test('of several owners who all leave at once, one stays', async () => {
    for (let round = 0; round < rounds; round++) {
      const house = await shared(crowd)
      const ends = await Promise.all(house.owners.map((as) => leave(house, as)))
      expect(ends.filter((end) => end === 'WORKSPACE.LAST_OWNER')).toHaveLength(1)
      expect(await ownersOf(house.workspace)).toHaveLength(1)
    }
  })

  test('of several owners who demote one another or leave, one stays', async () => {
    for (let round = 0; round < rounds; round++) {
      const house = await shared(crowd)
      const { owners } = house
      await Promise.all(
        owners.map((as, index) => (index % 2 ? leave(house, as) : demote(house, as, owners[(index + 1) % crowd]))),
      )
      expect((await ownersOf(house.workspace)).length).toBeGreaterThanOrEqual(1)
    }
  })

  test('of several owners who leave, step down and are limited at once, the one who stays may not go', async () => {
    for (let round = 0; round < rounds; round++) {
      const house = await shared(crowd)
      const ways = [leave, demote, (at: Shared, as: AccountId) => limit(at, as, { enterable: false })]
      const [first = bizId<'account'>(''), ...others] = house.owners
      const ends = await Promise.all(others.map((as, index) => ways[index % 3]?.(house, as)))
      expect(new Set(ends)).toEqual(new Set(['none']))
      const rest = (await ownersOf(house.workspace)).filter(({ id }) => id !== first)
      const open = rest.filter(({ policyConfig }) => policyConfig === null)
      expect(await leave(house, first)).toBe(open.length > 0 ? 'none' : 'WORKSPACE.LAST_OWNER')
    }
  })

  describe.each([
    { way: 'workspaces.leave', go: leave },
    { way: 'roles.changeMemberRole', go: demote },
  ])('$way', ({ go }) => {
    test.each([
      { policyConfig: { enterable: false }, is: 'may not enter' },
      { policyConfig: { readOnly: true }, is: 'may only read' },
      { policyConfig: { readOnly: 'perhaps' }, is: 'has limits that nobody can read' },
    ])('422 WORKSPACE.LAST_OWNER while the other owner $is; 200 again after that', async ({ policyConfig }) => {
      const { house, one, other } = await pair()
      const set = (to: object | null) =>
        world.database
          .updateTable('memberships')
          .set({ policy_config: to && JSON.stringify(to) })
          .where('workspace_biz_id', '=', house.workspace)
          .where('account_biz_id', '=', other)
          .execute()
      await set(policyConfig)
      expect(await go(house, one)).toBe('WORKSPACE.LAST_OWNER')
      await set(null)
      expect(await go(house, one)).toBe('none')
    })

    test('200 while the other owner may not have it as their default: they own it all the same', async () => {
      const { house, one, other } = await pair()
      expect(await limit(house, other, { defaultEligible: false })).toBe('none')
      expect(await go(house, one)).toBe('none')
    })

    /** What the way ends with where the other owner's suspension is under way when it begins. */
    const during = async (suspension: 'kept' | 'taken back') => {
      const { house, one, other } = await pair()
      let going: Promise<string> | undefined
      const suspending = world.database.transaction().execute(async (tx) => {
        const suspended = tx.updateTable('accounts').set({ account_status: 'SUSPENDED' }).where('biz_id', '=', other)
        await suspended.execute()
        going = go(house, one)
        // Long enough to come as far as it gets; one that does not wait is done by then.
        await Promise.race([going, new Promise((resolve) => setTimeout(resolve, 300))])
        if (suspension === 'taken back') throw new Error('taken back')
      })
      await suspending.catch(() => undefined)
      return going
    }
    test('422 WORKSPACE.LAST_OWNER where the other owner is being suspended', async () => {
      expect(await during('kept')).toBe('WORKSPACE.LAST_OWNER')
    })
    test('200 where that suspension comes to nothing', async () => {
      expect(await during('taken back')).toBe('none')
    })
  })

  test('workspaces.leave 200 where of two other owners one is being suspended; operators.suspendAccount 200', async () => {
    for (let round = 0; round < rounds; round++) {
      const house = await shared(3)
      const [one = bizId<'account'>(''), suspended = bizId<'account'>('')] = house.owners
      expect(await Promise.all([leave(house, one), suspend(suspended)])).toEqual(['none', 'none'])
    }
  })
})
