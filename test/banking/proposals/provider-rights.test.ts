import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/proposals/contract.ts'
import { createProposals, type Proposals } from '../../../src/banking/proposals/index.ts'
import { operatorPermissions } from '../../../src/contract/index.ts'
import { areFactorsSet, areFactorsUsedSince, resetFactors } from '../../../src/identity/index.ts'
import { type AccountId, hours, type Permission } from '../../../src/kernel/index.ts'
import { createLedger } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { callerOf, createWorld, portals, refusalOf, transactionOf, types, type World, words } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const reason = 'The groups at the identity provider “entra” have changed'

describe.each(stores)('rights of an identity provider on $name', (store) => {
  let world: World
  let proposals: Proposals
  let serial = 0
  beforeAll(async () => {
    world = await createWorld(async () => store)
    const { database, clock, members } = world
    const ledger = createLedger({ database, clock, ids: systemIds, types })
    proposals = createProposals({
      database,
      transaction: transactionOf(database),
      clock,
      words,
      ids: systemIds,
      members: members.memberships,
      notices: members.notices,
      factors: {
        areSet: areFactorsSet,
        areUsedSince: (tx, account, since) => areFactorsUsedSince(tx, account, since, hours(72)),
        reset: resetFactors,
      },
      permissions: operatorPermissions,
      invite: () => Promise.reject(new Error('unused')),
      settings: { lifetimeMs: hours(24), factorResetDelayMs: hours(24) },
      assertDifferentPerson: (tx, one, other) => ledger.within(tx).assertDifferentPerson(one, other),
      onSessionsEnded: () => undefined,
      mailer: { send: async () => undefined, close: async () => undefined },
      signInUrl: () => '',
      portals,
    })
  })

  const operator = async (permissions: readonly Permission[] = operatorPermissions) => {
    const id = await world.account(`provided${++serial}@example.test`, 'SYSTEM')
    await world.database
      .updateTable('accounts')
      .set({ operatorPermissions: [...permissions] })
      .where('bizId', '=', id)
      .execute()
    return id
  }
  const permissionsOf = async (id: AccountId) => {
    const found = world.database.selectFrom('accounts').select('operatorPermissions as all').where('bizId', '=', id)
    return (await found.executeTakeFirstOrThrow()).all
  }
  const apply = (accountId: AccountId, to: Permission[]) =>
    transactionOf(world.database)((tx) =>
      proposals.applyProviderRights(tx, { accountId, to, reason, at: world.clock.now() }),
    )
  const as = (id: AccountId) => callerOf(id, 'SYSTEM')
  const confirm = (actor: AccountId, proposal_id: string) =>
    world.call(proposals.handlers, contract.confirmProposal, { as: as(actor), params: { proposal_id } })
  const proposalsOf = async (subject: AccountId) => {
    const query = { pageSize: '100', sortOrder: 'asc' as const }
    const all = await world.call(proposals.handlers, contract.listProposals, { as: as(await operator()), query })
    return all.items
      .filter(({ subjectBizId }) => subjectBizId === subject)
      .map(({ bizId, proposalStatus: { code }, proposedBy, permissionCodes }) => ({
        ...{ bizId, code, proposedBy, permissionCodes },
      }))
  }

  test('a new power is only proposed; another operator confirms it, never the subject', async () => {
    const [subject, second] = [await operator(['operator:read', 'operator:manage', 'audit:read']), await operator()]
    await apply(subject, ['operator:read', 'operator:manage', 'audit:read', 'withdrawal:approve'])
    expect(await permissionsOf(subject)).not.toContain('withdrawal:approve')
    const [proposal] = await proposalsOf(subject)
    expect(proposal).toMatchObject({ code: 'PENDING', proposedBy: null })
    expect(await refusalOf(confirm(subject, String(proposal?.bizId)))).toBe('ACCESS.PERMISSION_DENIED')
    await confirm(second, String(proposal?.bizId))
    expect(await permissionsOf(subject)).toContain('withdrawal:approve')
  })

  test('403: an operator without the power cannot confirm it', async () => {
    const [subject, limited] = [await operator([]), await operator(['operator:read', 'operator:manage'])]
    await apply(subject, ['audit:read'])
    const [proposal] = await proposalsOf(subject)
    expect(await refusalOf(confirm(limited, String(proposal?.bizId)))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await permissionsOf(subject)).toEqual([])
  })

  test('a missing power is removed immediately, with a record, an audit entry and a notice', async () => {
    const subject = await operator(['audit:read', 'ledger:read'])
    await apply(subject, ['ledger:read'])
    expect(await permissionsOf(subject)).toEqual(['ledger:read'])
    const [done, ...further] = await proposalsOf(subject)
    expect(further).toEqual([])
    expect(done).toMatchObject({ code: 'DONE', proposedBy: null, permissionCodes: ['ledger:read'] })
    const audit = world.database.selectFrom('audit_log').select(['action', 'actorBizId'])
    expect(await audit.where('targetBizId', '=', String(done?.bizId)).execute()).toEqual([
      { action: 'proposals.applyProviderRights', actorBizId: null },
    ])
    const mails = await world.database.selectFrom('jobs').select('payload').execute()
    expect(mails).toContainEqual({ payload: expect.objectContaining({ to: subject, status: 'DONE', reason }) })
  })

  test('an equal pending proposal is not repeated; another one replaces it', async () => {
    const subject = await operator(['audit:read'])
    await apply(subject, ['audit:read', 'ledger:read'])
    await apply(subject, ['ledger:read', 'audit:read'])
    expect((await proposalsOf(subject)).map(({ code }) => code)).toEqual(['PENDING'])
    await apply(subject, ['audit:read', 'operator:read'])
    expect((await proposalsOf(subject)).map(({ code }) => code).toSorted()).toEqual(['CANCELLED', 'PENDING'])
    await apply(subject, ['audit:read'])
    expect((await proposalsOf(subject)).map(({ code }) => code)).toEqual(['CANCELLED', 'CANCELLED'])
  })

  test('an operator’s pending proposal stays, unless a removal makes it void', async () => {
    const [first, subject] = [await operator(), await operator(['audit:read'])]
    const permissionCodes = ['audit:read', 'recovery:manage']
    const params = { account_id: subject }
    await world.call(proposals.handlers, contract.proposePermissions, {
      ...{ as: as(first), params, body: { permissionCodes, reason } },
    })
    await apply(subject, ['audit:read', 'ledger:read'])
    expect(await proposalsOf(subject)).toMatchObject([{ code: 'PENDING', proposedBy: first }])
    await apply(subject, ['ledger:read'])
    const codes = (await proposalsOf(subject)).map(({ code, proposedBy }) => [code, proposedBy])
    expect(codes).toEqual(
      expect.arrayContaining([
        ['CANCELLED', first],
        ['DONE', null],
        ['PENDING', null],
      ]),
    )
  })

  test('the last active operator who can manage operators keeps the permissions, also in parallel', async () => {
    const { database } = world
    const suspended = await database
      .updateTable('accounts')
      .set({ accountStatus: 'SUSPENDED' })
      .where('accountStatus', '=', 'ACTIVE')
      .returning('bizId')
      .execute()
    const managers = [await operator(), await operator(), await operator()]
    const results = await Promise.allSettled(managers.map((each) => apply(each, ['audit:read'])))
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    const last = managers[results.findIndex(({ status }) => status === 'rejected')] ?? expect.unreachable()
    expect(await refusalOf(apply(last, []))).toBe('STATE.CONFLICT')
    expect(await permissionsOf(last)).toEqual(operatorPermissions)
    await apply(last, ['operator:manage'])
    expect(await permissionsOf(last)).toEqual(['operator:manage'])
    const ids = suspended.map(({ bizId }) => bizId)
    await database.updateTable('accounts').set({ accountStatus: 'ACTIVE' }).where('bizId', 'in', ids).execute()
  })
})
