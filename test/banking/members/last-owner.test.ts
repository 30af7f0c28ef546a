import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as memberContract from '../../../src/banking/members/contract.ts'
import * as operatorContract from '../../../src/banking/operators/contract.ts'
import { createOperators } from '../../../src/banking/operators/index.ts'
import * as roleContract from '../../../src/banking/roles/contract.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import { freezeOwnWorkspace } from '../../../src/banking/workspaces/index.ts'
import { permissionTable } from '../../../src/contract/index.ts'
import { endSessions } from '../../../src/identity/index.ts'
import {
  type AccountId,
  bizId,
  type HandlerTable,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../../src/kernel/index.ts'
import { createLedger } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  portals,
  refusalOf,
  transactionOf,
  types,
  type World,
  words,
} from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const rounds = 20
const ownerCount = 6

/** Concurrent changes always leave an owner who can run the workspace. */
describe.each(stores)('the last owner on $name', (store) => {
  let world: World
  let handlers: HandlerTable
  let operator: AccountId
  let serial = 0
  beforeAll(async () => {
    world = await createWorld(async () => store)
    const { database, clock } = world
    const shared = {
      database,
      transaction: transactionOf(database),
      clock,
      words,
      ids: systemIds,
      members: world.members.memberships,
    }
    const mailer = { send: async () => undefined, close: async () => undefined }
    const operatorPorts = {
      signInUrl: () => '',
      portals,
      endSessions,
      freezeOwnWorkspace,
      onSessionsEnded: () => undefined,
      mailer,
      ledger: createLedger({ ...shared, types }),
      withoutTimeouts: world.withoutTimeouts,
    }
    handlers = new Map([
      ...world.handlers,
      ...createRoles({
        assertSessionOpen: alwaysOpen,
        ...shared,
        notices: world.members.notices,
        permissionTable: permissionTable.workspace,
        settings: accessSettings.roles,
      }).handlers,
      ...createOperators({
        sendsMail: true,
        suspendCredentials: async () => ({}),
        ...shared,
        ...operatorPorts,
      }).handlers,
    ])
    operator = await world.account('operator@example.test', 'SYSTEM')
  })

  interface Shared {
    workspace: WorkspaceId
    owners: AccountId[]
    clerk: RoleId
    /** Access that was read before the command. */
    access: WorkspaceAccess
  }
  const createSharedWorkspace = async (count: number): Promise<Shared> => {
    const owners: AccountId[] = []
    for (let index = 0; index < count; index++) owners.push(await world.account(`racer${++serial}@example.test`))
    const [first = bizId<'account'>('')] = owners
    const workspace = bizId<'workspace'>(await world.workspaceOf(first))
    await world.database.transaction().execute(async (tx) => {
      const { roleId } = (await world.members.memberships.find(tx, first, workspace)) ?? {}
      if (!roleId) throw new Error('no owner')
      for (const accountId of owners.slice(1)) {
        const member = { workspaceId: workspace, accountId, roleId, joinSource: 'INVITATION', grantedBy: null } as const
        await world.members.memberships.add(tx, member, world.clock.now())
      }
    })
    const body = { roleName: 'Clerk', permissionCodes: [] }
    const clerk = await world.call(handlers, roleContract.createRole, { as: first, workspace, body })
    const access = await world.members.enter(callerOf(first), workspace)
    return { workspace, owners, clerk: bizId(clerk.bizId), access }
  }
  const ownersOf = async (workspace: WorkspaceId) => {
    const owners = await world.database
      .selectFrom('memberships as m')
      .innerJoin('roles as r', 'r.bizId', 'm.roleBizId')
      .where('m.workspaceBizId', '=', workspace)
      .where('r.roleType', '=', 'OWNER')
      .select(['m.accountBizId as id', 'm.policyConfig'])
      .execute()
    return owners
  }
  const leave = ({ access }: Shared, as: AccountId) =>
    refusalOf(world.call(handlers, memberContract.leaveWorkspace, { as, access }))
  const demote = ({ access, clerk }: Shared, as: AccountId, userBizId = as) => {
    const body = { userBizId, roleBizId: clerk }
    return refusalOf(world.call(handlers, roleContract.changeMemberRole, { as, access, body }))
  }
  const limit = ({ workspace }: Shared, userBizId: AccountId, policyConfig: object | null) => {
    const body = { userBizId, policyConfig, reason: 'a court order' }
    const context = { as: callerOf(operator, 'SYSTEM'), params: { workspace_id: workspace }, body }
    return refusalOf(world.call(handlers, memberContract.limitMember, context))
  }
  const suspend = (account_id: AccountId) => {
    const context = { as: callerOf(operator, 'SYSTEM'), params: { account_id }, body: { reason: 'abuse' } }
    return refusalOf(world.call(handlers, operatorContract.suspendAccount, context))
  }
  const pair = async () => {
    const target = await createSharedWorkspace(2)
    const [one = bizId<'account'>(''), other = bizId<'account'>('')] = target.owners
    return { target, one, other }
  }

  test('workspaces.leave 422 WORKSPACE.LAST_OWNER: one of several concurrent owners remains', async () => {
    for (let round = 0; round < rounds; round++) {
      const target = await createSharedWorkspace(ownerCount)
      const results = await Promise.all(target.owners.map((as) => leave(target, as)))
      expect(results.filter((end) => end === 'WORKSPACE.LAST_OWNER')).toHaveLength(1)
      expect(await ownersOf(target.workspace)).toHaveLength(1)
    }
  })

  test('roles.changeMember and workspaces.leave: one of several concurrent owners remains', async () => {
    for (let round = 0; round < rounds; round++) {
      const target = await createSharedWorkspace(ownerCount)
      const { owners } = target
      await Promise.all(
        owners.map((as, index) =>
          index % 2 ? leave(target, as) : demote(target, as, owners[(index + 1) % ownerCount]),
        ),
      )
      expect((await ownersOf(target.workspace)).length).toBeGreaterThanOrEqual(1)
    }
  })

  test('workspaces.leave 422 WORKSPACE.LAST_OWNER: last owner after concurrent changes', async () => {
    for (let round = 0; round < rounds; round++) {
      const target = await createSharedWorkspace(ownerCount)
      const actions = [leave, demote, (at: Shared, as: AccountId) => limit(at, as, { enterable: false })]
      const [first = bizId<'account'>(''), ...others] = target.owners
      const results = await Promise.all(others.map((as, index) => actions[index % 3]?.(target, as)))
      expect(new Set(results)).toEqual(new Set(['none']))
      const rest = (await ownersOf(target.workspace)).filter(({ id }) => id !== first)
      const open = rest.filter(({ policyConfig }) => policyConfig === null)
      expect(await leave(target, first)).toBe(open.length > 0 ? 'none' : 'WORKSPACE.LAST_OWNER')
    }
  })

  describe.each([
    { operation: 'workspaces.leave', run: leave },
    { operation: 'roles.changeMember', run: demote },
  ])('$operation', ({ run }) => {
    test.each([
      { policyConfig: { enterable: false }, is: 'cannot enter' },
      { policyConfig: { readOnly: true }, is: 'is read-only' },
      { policyConfig: { readOnly: 'perhaps' }, is: 'has invalid limits' },
    ])('422 WORKSPACE.LAST_OWNER: the other owner $is; 200 afterwards', async ({ policyConfig }) => {
      const { target, one, other } = await pair()
      const set = (to: object | null) =>
        world.database
          .updateTable('memberships')
          .set({ policyConfig: to && JSON.stringify(to) })
          .where('workspaceBizId', '=', target.workspace)
          .where('accountBizId', '=', other)
          .execute()
      await set(policyConfig)
      expect(await run(target, one)).toBe('WORKSPACE.LAST_OWNER')
      await set(null)
      expect(await run(target, one)).toBe('none')
    })

    test('200: the other owner cannot make it their default', async () => {
      const { target, one, other } = await pair()
      expect(await limit(target, other, { defaultEligible: false })).toBe('none')
      expect(await run(target, one)).toBe('none')
    })

    /** The other owner's suspension is not committed meanwhile. */
    const runDuring = async (suspension: 'committed' | 'rolled back') => {
      const { target, one, other } = await pair()
      let result: Promise<string> | undefined
      const suspending = world.database.transaction().execute(async (tx) => {
        const suspended = tx.updateTable('accounts').set({ accountStatus: 'SUSPENDED' }).where('bizId', '=', other)
        await suspended.execute()
        result = run(target, one)
        // Long enough for an operation that does not wait for the lock.
        await Promise.race([result, new Promise((resolve) => setTimeout(resolve, 300))])
        if (suspension === 'rolled back') throw new Error('rolled back')
      })
      await suspending.catch(() => undefined)
      return result
    }
    test('422 WORKSPACE.LAST_OWNER: concurrent suspension of the other owner', async () => {
      expect(await runDuring('committed')).toBe('WORKSPACE.LAST_OWNER')
    })
    test('200: concurrent suspension that is rolled back', async () => {
      expect(await runDuring('rolled back')).toBe('none')
    })
  })

  test('workspaces.leave 200: concurrent suspension of one of two other owners', async () => {
    for (let round = 0; round < rounds; round++) {
      const target = await createSharedWorkspace(3)
      const [one = bizId<'account'>(''), suspended = bizId<'account'>('')] = target.owners
      expect(await Promise.all([leave(target, one), suspend(suspended)])).toEqual(['none', 'none'])
    }
  })
})
