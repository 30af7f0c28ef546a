import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/proposals/contract.ts'
import { createProposals, type Proposals } from '../../../src/banking/proposals/index.ts'
import { operatorPermissions } from '../../../src/contract/index.ts'
import { areFactorsSet, areFactorsUsedSince, resetFactors } from '../../../src/identity/index.ts'
import { type AccountId, addMs, hours, minutes, type Permission, toDate } from '../../../src/kernel/index.ts'
import { createLedger } from '../../../src/ledger/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import {
  callerOf,
  createWorld,
  merchant,
  portals,
  refusalOf,
  transactionOf,
  types,
  type World,
  words,
} from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const reason = 'Needs it for the night shift'
const lifetimeMs = hours(24)
const factorResetDelayMs = hours(24)
const suspicionMs = hours(72)

describe.each(stores)('proposals on $name', (store) => {
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
        areUsedSince: (tx, account, since) => areFactorsUsedSince(tx, account, since, suspicionMs),
        reset: resetFactors,
      },
      permissions: operatorPermissions,
      invite: () => Promise.reject(new Error('unused')),
      settings: { lifetimeMs, factorResetDelayMs },
      assertDifferentPerson: (tx, one, other) => ledger.within(tx).assertDifferentPerson(one, other),
      onSessionsEnded: () => undefined,
      mailer: { send: async () => undefined, close: async () => undefined },
      signInUrl: () => '',
      portals,
    })
  })

  const everything = [...operatorPermissions]
  const operator = async (permissions: Permission[] = everything, email = `op${++serial}@example.test`) => {
    const id = await world.account(email, 'SYSTEM')
    await setPermissions(id, permissions)
    return id
  }
  const setPermissions = (id: AccountId, operatorPermissions: Permission[]) =>
    world.database.updateTable('accounts').set({ operatorPermissions }).where('bizId', '=', id).execute()
  const permissionsOf = async (id: AccountId) => {
    const found = world.database.selectFrom('accounts').select('operatorPermissions as all').where('bizId', '=', id)
    return (await found.executeTakeFirstOrThrow()).all
  }
  const as = (id: AccountId) => callerOf(id, 'SYSTEM')
  const propose = (actor: AccountId, subject: AccountId, permissionCodes: string[]) =>
    world.call(proposals.handlers, contract.proposePermissions, {
      as: as(actor),
      params: { account_id: subject },
      body: { permissionCodes, reason },
    })
  const revoke = (actor: AccountId, subject: AccountId, permissionCodes: string[]) =>
    world.call(proposals.handlers, contract.revokeOperatorPermissions, {
      as: as(actor),
      params: { account_id: subject },
      body: { permissionCodes, reason },
    })
  const confirm = (actor: AccountId, proposal_id: string) =>
    world.call(proposals.handlers, contract.confirmProposal, { as: as(actor), params: { proposal_id } })
  const reject = (actor: AccountId, proposal_id: string) =>
    world.call(proposals.handlers, contract.rejectProposal, {
      as: as(actor),
      params: { proposal_id },
      body: { reason },
    })
  const statusOf = async (id: string) => {
    const query = { pageSize: '100' }
    const all = await world.call(proposals.handlers, contract.listProposals, { as: as(await operator()), query })
    return all.items.find(({ bizId: each }) => each === id)?.proposalStatus.code
  }
  const auditOf = (targetId: string) =>
    world.database
      .selectFrom('audit_log')
      .select(['action', 'actorBizId'])
      .where('targetBizId', '=', targetId)
      .execute()

  describe('permissions of operators', () => {
    test('403: a session that lacks a permission, because it was not started with a passkey, grants it to nobody', async () => {
      const [first, second, subject] = [await operator(), await operator(), await operator(['audit:read'])]
      const byMail = (id: AccountId) => ({ ...as(id), withheld: new Set<Permission>(['withdrawal:approve']) })
      const proposing = (permissionCodes: string[]) =>
        world.call(proposals.handlers, contract.proposePermissions, {
          as: byMail(first),
          params: { account_id: subject },
          body: { permissionCodes, reason },
        })
      const powers = ['audit:read', 'withdrawal:approve']
      expect(await refusalOf(proposing(powers))).toBe('ACCESS.PASSKEY_REQUIRED')
      const { bizId: proposal_id } = await propose(first, subject, powers)
      const confirming = { as: byMail(second), params: { proposal_id } }
      const confirmed = world.call(proposals.handlers, contract.confirmProposal, confirming)
      expect(await refusalOf(confirmed)).toBe('ACCESS.PASSKEY_REQUIRED')
      expect(await confirm(second, proposal_id)).toMatchObject({ proposalStatus: { code: 'DONE' } })
    })

    test('proposals.confirm 200: another operator grants them, with audit entries and notices', async () => {
      const [first, second, subject] = [await operator(), await operator(), await operator(['audit:read'])]
      const proposal = await propose(first, subject, ['audit:read', 'ledger:read'])
      expect(await permissionsOf(subject)).toEqual(['audit:read'])
      expect(proposal).toMatchObject({
        proposalStatus: { code: 'PENDING' },
        permissionCodes: ['audit:read', 'ledger:read'],
      })
      const confirmed = await confirm(second, proposal.bizId)
      expect(confirmed).toMatchObject({ proposalStatus: { code: 'DONE' }, proposedBy: first, decidedBy: second })
      expect(await permissionsOf(subject)).toEqual(['audit:read', 'ledger:read'])
      expect(await auditOf(proposal.bizId)).toEqual([
        { action: 'proposals.proposePermissions', actorBizId: first },
        { action: 'proposals.confirm', actorBizId: second },
      ])
      const mails = await world.database
        .selectFrom('jobs')
        .select('payload')
        .where('kind', '=', 'proposals.notice')
        .execute()
      for (const to of [first, second, subject])
        expect(mails).toContainEqual({ payload: expect.objectContaining({ to, kind: 'PERMISSIONS', status: 'DONE' }) })
    })

    test('proposals.confirm 409: of parallel confirmations, one takes effect', async () => {
      const [first, subject] = [await operator(), await operator([])]
      const { bizId: id } = await propose(first, subject, ['audit:read'])
      const others = await Promise.all([operator(), operator(), operator(), operator()])
      const results = await Promise.all(others.map((other) => refusalOf(confirm(other, id))))
      expect(results.toSorted()).toEqual(['STATE.CONFLICT', 'STATE.CONFLICT', 'STATE.CONFLICT', 'none'])
    })

    test('proposals.confirm 403: nobody decides on their own proposal, on themselves or as the same person', async () => {
      const email = `twin${++serial}@example.test`
      const [first, subject] = [await operator(), await operator(everything, email)]
      const { bizId: id } = await propose(first, subject, ['audit:read'])
      expect(await refusalOf(confirm(first, id))).toBe('ACCESS.PERMISSION_DENIED')
      expect(await refusalOf(confirm(subject, id))).toBe('ACCESS.PERMISSION_DENIED')
      expect(await refusalOf(reject(subject, id))).toBe('ACCESS.PERMISSION_DENIED')
      expect(await refusalOf(propose(first, first, ['audit:read']))).toBe('ACCESS.PERMISSION_DENIED')
      expect(await refusalOf(revoke(first, first, ['audit:read']))).toBe('ACCESS.PERMISSION_DENIED')
      expect(await statusOf(id)).toBe('PENDING')
      expect(await permissionsOf(subject)).toEqual(everything)
    })

    test('403: nobody grants what they lack; a confirmer without the permission of the kind', async () => {
      const some: Permission[] = ['operator:read', 'operator:manage', 'audit:read']
      const [limited, full, subject] = [await operator(some), await operator(), await operator([])]
      expect(await refusalOf(propose(limited, subject, ['ledger:read']))).toBe('ACCESS.PERMISSION_DENIED')
      const { bizId: id } = await propose(full, subject, ['ledger:read'])
      expect(await refusalOf(confirm(limited, id))).toBe('ACCESS.PERMISSION_DENIED')
      const reader = await operator(['operator:read', 'ledger:read'])
      expect(await refusalOf(confirm(reader, id))).toBe('ACCESS.PERMISSION_DENIED')
      expect(await permissionsOf(subject)).toEqual([])
    })

    test('proposals.confirm 409: the permissions or the proposer’s rights have changed since', async () => {
      const [first, second, subject] = [await operator(), await operator(), await operator(['audit:read'])]
      const stale = await propose(first, subject, ['audit:read', 'ledger:read'])
      expect(await revoke(second, subject, ['audit:read'])).toMatchObject({ proposalStatus: { code: 'DONE' } })
      expect(await refusalOf(confirm(second, stale.bizId))).toBe('STATE.CONFLICT')
      expect(await permissionsOf(subject)).toEqual([])
      await reject(first, stale.bizId)
      const next = await propose(first, subject, ['ledger:read'])
      await setPermissions(first, ['operator:read'])
      expect(await refusalOf(confirm(second, next.bizId))).toBe('STATE.CONFLICT')
    })

    test('proposals.confirm 409: expired; a new proposal is possible afterwards', async () => {
      const [first, second, subject] = [await operator(), await operator(), await operator([])]
      const { bizId: id } = await propose(first, subject, ['audit:read'])
      expect(await refusalOf(propose(second, subject, ['ledger:read']))).toBe('STATE.CONFLICT')
      world.clock.advance(lifetimeMs)
      expect(await refusalOf(confirm(second, id))).toBe('STATE.CONFLICT')
      expect(await refusalOf(reject(second, id))).toBe('STATE.CONFLICT')
      expect(await statusOf(id)).toBe('EXPIRED')
      const again = await propose(second, subject, ['ledger:read'])
      expect((await confirm(first, again.bizId)).proposalStatus.code).toBe('DONE')
    })

    test('404 and 400: a consumer, an unknown account, an unknown permission', async () => {
      const first = await operator()
      const consumer = await world.account(`c${++serial}@example.test`)
      expect(await refusalOf(propose(first, consumer, ['audit:read']))).toBe('RESOURCE.NOT_FOUND')
      expect(await refusalOf(propose(first, systemIds.next<'account'>(), []))).toBe('RESOURCE.NOT_FOUND')
      expect(await refusalOf(propose(first, await operator([]), ['all:things']))).toBe('VALIDATION.INVALID_PARAMETER')
    })
  })

  describe('owners', () => {
    const proposeOwner = (actor: AccountId, workspace_id: string, userBizId: AccountId) =>
      world.call(proposals.handlers, contract.proposeOwner, {
        as: as(actor),
        params: { workspace_id },
        body: { userBizId, reason },
      })
    const suspend = (id: AccountId) =>
      world.database.updateTable('accounts').set({ accountStatus: 'SUSPENDED' }).where('bizId', '=', id).execute()
    const isOwner = async (account: AccountId, workspace: string) =>
      (await world.members.enter(callerOf(account), workspace)).isOwner

    test('proposals.proposeOwner 200: a member and a stranger become owners of a workspace without one', async () => {
      for (const isMember of [true, false]) {
        const [first, second] = [await operator(), await operator()]
        const [owner, next] = [await world.account(`o${++serial}@x.test`), await world.account(`n${++serial}@x.test`)]
        const workspace = await world.workspaceOf(owner)
        if (isMember) await world.join(workspace, next, [])
        expect(await refusalOf(proposeOwner(first, workspace, next))).toBe('STATE.CONFLICT')
        await suspend(owner)
        const { bizId: id } = await proposeOwner(first, workspace, next)
        expect(await refusalOf(confirm(first, id))).toBe('ACCESS.PERMISSION_DENIED')
        expect((await confirm(second, id)).proposalStatus.code).toBe('DONE')
        expect(await isOwner(next, workspace)).toBe(true)
      }
    })

    test('proposals.proposeOwner 409: an account of another portal than the workspace; 403 to a person in it', async () => {
      const [first, second, inside] = [await operator(), await operator(), await operator(everything, 'keeper@x.test')]
      const email = `n${++serial}@x.test`
      const [consumer, next] = [await world.account(email), await world.account(email, merchant)]
      const owner = await world.account(`o${serial}@x.test`, merchant)
      const shop = await world.workspaceOf(owner)
      const keeper = await world.account('keeper@x.test', merchant)
      await world.join(shop, keeper, [])
      await suspend(owner)
      expect(await refusalOf(proposeOwner(first, shop, consumer))).toBe('STATE.CONFLICT')
      expect(await refusalOf(proposeOwner(first, shop, second))).toBe('STATE.CONFLICT')
      expect(await refusalOf(proposeOwner(inside, shop, next))).toBe('ACCESS.PERMISSION_DENIED')
      const { bizId: id } = await proposeOwner(first, shop, next)
      expect((await confirm(second, id)).proposalStatus.code).toBe('DONE')
      expect((await world.members.enter(callerOf(next, merchant), shop)).isOwner).toBe(true)
    })

    test('409 and 403: the owner is back, a limited member, and operators of the workspace', async () => {
      const [first, second] = [await operator(), await operator()]
      const [owner, next] = [await world.account(`o${++serial}@x.test`), await world.account(`n${++serial}@x.test`)]
      const workspace = await world.workspaceOf(owner)
      await world.join(workspace, next, [])
      await suspend(owner)
      const inside = await operator(everything, `n${serial}@x.test`)
      expect(await refusalOf(proposeOwner(inside, workspace, next))).toBe('ACCESS.PERMISSION_DENIED')
      const limits = { policyConfig: JSON.stringify({ readOnly: true }) }
      const { bizId: id } = await proposeOwner(first, workspace, next)
      const membership = world.database.updateTable('memberships').where('accountBizId', '=', next)
      await membership.set(limits).execute()
      expect(await refusalOf(confirm(second, id))).toBe('STATE.CONFLICT')
      await membership.set({ policyConfig: null }).execute()
      expect(await refusalOf(confirm(inside, id))).toBe('ACCESS.PERMISSION_DENIED')
      const active = world.database.updateTable('accounts').set({ accountStatus: 'ACTIVE' })
      await active.where('bizId', '=', owner).execute()
      expect(await refusalOf(confirm(second, id))).toBe('STATE.CONFLICT')
      expect(await isOwner(next, workspace)).toBe(false)
    })
  })

  describe('second factors', () => {
    const reset = (actor: AccountId, subject: AccountId) =>
      world.call(proposals.handlers, contract.resetAccountFactors, {
        as: as(actor),
        params: { account_id: subject },
        body: { reason },
      })
    const withFactor = async (
      account: AccountId,
      portal: 'CONSUMER' | 'SYSTEM' = 'CONSUMER',
      factorAgeMs = suspicionMs,
    ) => {
      const verifiedAt = toDate(addMs(world.clock.now(), -factorAgeMs))
      const secret = { secret: new Uint8Array(8), verifiedAt, pendingSecret: null, pendingAt: null }
      await world.database
        .insertInto('otp_factors')
        .values({ accountBizId: account, portal, ...secret })
        .execute()
      return account
    }
    const hasFactor = (id: AccountId, portal: 'CONSUMER' | 'SYSTEM' = 'CONSUMER') =>
      world.database.transaction().execute((tx) => areFactorsSet(tx, { portal, id }))
    const runJob = () => {
      const facts = { jobId: systemIds.next(), attempt: 1, signal: new AbortController().signal, drop: () => undefined }
      return Promise.all(proposals.jobs.map((job) => job.work({}, facts)))
    }
    const consumer = async (factorAgeMs?: number) =>
      withFactor(await world.account(`c${++serial}@x.test`), 'CONSUMER', factorAgeMs)

    test('proposals.resetFactor 200: takes effect after the delay, on one replica, and ends the sessions', async () => {
      const [first, account] = [await operator(), await consumer()]
      const proposal = await reset(first, account)
      expect(proposal).toMatchObject({ proposalStatus: { code: 'SCHEDULED' } })
      expect(Date.parse(proposal.executesAt ?? '')).toBe(world.clock.now() + factorResetDelayMs)
      world.clock.advance(factorResetDelayMs - 1)
      await runJob()
      expect(await hasFactor(account)).toBe(true)
      world.clock.advance(1)
      await Promise.all([runJob(), runJob()])
      expect(await hasFactor(account)).toBe(false)
      expect(await statusOf(proposal.bizId)).toBe('DONE')
      expect((await auditOf(proposal.bizId)).map(({ action }) => action)).toEqual([
        'proposals.resetFactor',
        'proposals.execute',
      ])
      expect(await refusalOf(reset(first, account))).toBe('STATE.CONFLICT')
    })

    test.each([
      ['an old factor since the request cancels', suspicionMs, 'CANCELLED'],
      ['a young factor, which a thief may have enrolled, does not cancel', suspicionMs - 1, 'DONE'],
    ])('proposals.execute: the use of %s the reset', async (_name, factorAgeMs, status) => {
      const account = await consumer(factorAgeMs)
      const { bizId: id } = await reset(await operator(), account)
      world.clock.advance(minutes(1))
      const lastUsedStep = Math.floor(world.clock.now() / 30_000)
      await world.database
        .updateTable('otp_factors')
        .set({ lastUsedStep })
        .where('accountBizId', '=', account)
        .execute()
      world.clock.advance(factorResetDelayMs)
      await runJob()
      expect([await statusOf(id), await hasFactor(account)]).toEqual([status, status === 'CANCELLED'])
    })

    test('proposals.execute: new backup codes since the request do not cancel the reset', async () => {
      const account = await consumer()
      const { bizId: id } = await reset(await operator(), account)
      world.clock.advance(minutes(1))
      await world.database
        .insertInto('backup_codes')
        .values({
          accountBizId: account,
          portal: 'CONSUMER',
          codeDigest: new Uint8Array(32),
          generatedAt: toDate(world.clock.now()),
          usedAt: null,
        })
        .execute()
      world.clock.advance(factorResetDelayMs)
      await runJob()
      expect([await statusOf(id), await hasFactor(account)]).toEqual(['DONE', false])
    })

    test('proposals.execute: the suspension of the operator cancels the reset', async () => {
      const [first, account] = [await operator(), await consumer()]
      const { bizId: id } = await reset(first, account)
      const accounts = world.database.updateTable('accounts').where('bizId', '=', first)
      await accounts.set({ accountStatus: 'SUSPENDED' }).execute()
      world.clock.advance(factorResetDelayMs)
      await runJob()
      expect([await statusOf(id), await hasFactor(account)]).toEqual(['CANCELLED', true])
    })

    test('proposals.reject 200: an operator stops a scheduled reset', async () => {
      const [first, second, account] = [await operator(), await operator(), await consumer()]
      const { bizId: id } = await reset(first, account)
      expect((await reject(second, id)).proposalStatus.code).toBe('REJECTED')
      world.clock.advance(factorResetDelayMs)
      await runJob()
      expect(await hasFactor(account)).toBe(true)
    })

    test('proposals.resetFactor 200: for an operator, a second operator confirms and the delay follows', async () => {
      const [first, second] = [await operator(), await operator()]
      const subject = await withFactor(await operator(), 'SYSTEM')
      expect(await refusalOf(reset(subject, subject))).toBe('ACCESS.PERMISSION_DENIED')
      const { bizId: id, proposalStatus } = await reset(first, subject)
      expect(proposalStatus.code).toBe('PENDING')
      expect(await refusalOf(confirm(first, id))).toBe('ACCESS.PERMISSION_DENIED')
      expect((await confirm(second, id)).proposalStatus.code).toBe('SCHEDULED')
      world.clock.advance(factorResetDelayMs)
      await runJob()
      expect(await hasFactor(subject, 'SYSTEM')).toBe(false)
    })
  })
})
