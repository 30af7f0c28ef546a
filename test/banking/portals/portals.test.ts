import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as keyContract from '../../../src/banking/api-keys/contract.ts'
import type { ApiKeys } from '../../../src/banking/api-keys/index.ts'
import * as contract from '../../../src/banking/invitations/contract.ts'
import { createInvitations } from '../../../src/banking/invitations/index.ts'
import { ownerNoticeJob } from '../../../src/banking/members/notices.ts'
import { createWorkspace } from '../../../src/banking/workspaces/contract.ts'
import { type AccountId, bizId, days, type HandlerTable, type Portal, toIso } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { createTestApiKeys, withSecret } from '../api-keys/fixture.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  merchant,
  portals,
  refusalOf,
  transactionOf,
  type World,
  words,
} from '../world.ts'

const signInUrl = (portal: Portal) => `https://${portal.toLowerCase()}.test/`
const facts = { jobId: '', attempt: 1, signal: new AbortController().signal, drop: () => undefined }

let world: World
let invitations: HandlerTable
let keys: ApiKeys
const mails: Record<string, string>[] = []
const keyMails: string[][] = []
const refused = new Set<string>()
let serial = 0
/** A person with accounts at both portals, each with the same address. */
let email: string
let consumer: AccountId
let trader: AccountId
/** Owners of a workspace at each portal. */
let owner: AccountId
let shopkeeper: AccountId
let workspace: string
let shop: string

const as = (id: AccountId, portal: Portal = merchant) => ({ ...callerOf(id, portal), steppedUpAt: world.clock.now() })
const portalOf = async (id: string) => {
  const found = world.database.selectFrom('workspaces').select('portal').where('bizId', '=', bizId<'workspace'>(id))
  return (await found.executeTakeFirst())?.portal
}
const idOf = bizId<'workspace'>

beforeAll(async () => {
  world = await createWorld()
  const { database, members } = world
  keys = createTestApiKeys(world, keyMails, alwaysOpen, async (id, portal) => {
    const found = database.selectFrom('accounts').select('email').where('bizId', '=', id).where('portal', '=', portal)
    return (await found.executeTakeFirst())?.email ?? 'nobody'
  })
  invitations = createInvitations({
    assertSessionOpen: alwaysOpen,
    database,
    transaction: transactionOf(database),
    ids: systemIds,
    members: members.memberships,
    notices: members.notices,
    words,
    mailer: { send: async ({ to, locale, values }) => void mails.push({ ...values, to, locale }) },
    signInUrl,
    isRefusedEmail: (_, portal) => refused.has(portal),
    settings: accessSettings.invitations,
  }).handlers
})
afterAll(() => world.close())
beforeEach(async () => {
  serial += 1
  mails.length = 0
  keyMails.length = 0
  refused.clear()
  email = `person${serial}@example.test`
  consumer = await world.account(email)
  trader = await world.account(email, merchant)
  owner = await world.account(`owner${serial}@example.test`)
  shopkeeper = await world.account(`keeper${serial}@example.test`, merchant)
  workspace = await world.workspaceOf(owner)
  shop = await world.workspaceOf(shopkeeper)
})

describe('workspaces', () => {
  test('workspaces.create 200: the workspace belongs to the portal of the account that opens it', async () => {
    expect([await portalOf(workspace), await portalOf(shop)]).toEqual(['CONSUMER', merchant])
    const { bizId: created } = await world.call(world.handlers, createWorkspace, {
      as: as(trader),
      body: { workspaceName: 'Second shop' },
    })
    expect(await portalOf(created)).toBe(merchant)
  })

  test('no operator has a workspace', async () => {
    const operator = await world.account(`operator${serial}@example.test`, 'SYSTEM')
    await expect(world.workspaceOf(operator)).rejects.toThrow('workspaces_portal_format')
  })
})

describe('members', () => {
  const adding = (accountId: AccountId, to: string) =>
    world.database.transaction().execute(async (tx) => {
      const { memberships } = world.members
      const { roleId } = (await memberships.find(tx, to === shop ? shopkeeper : owner, idOf(to))) ?? {}
      if (!roleId) throw new Error('no owner')
      const member = { workspaceId: idOf(to), accountId, roleId, joinSource: 'INVITATION', grantedBy: null } as const
      return memberships.add(tx, member, world.clock.now())
    })

  test('409: nobody of another portal becomes a member, not even a person with both accounts', async () => {
    expect(await refusalOf(adding(trader, workspace))).toBe('STATE.CONFLICT')
    expect(await refusalOf(adding(consumer, shop))).toBe('STATE.CONFLICT')
    expect(await adding(trader, shop)).toBe(true)
    expect(await adding(consumer, workspace)).toBe(true)
  })

  test('the store refuses the row of such a member', async () => {
    await adding(consumer, workspace)
    const rows = world.database.selectFrom('memberships').selectAll().where('accountBizId', '=', consumer)
    const { payoutsSince: _, ...row } = await rows.executeTakeFirstOrThrow()
    const foreign = { ...row, accountBizId: trader, policyConfig: null, grantedAt: null, createdAt: new Date() }
    const inserted = world.database.insertInto('memberships').values({
      ...foreign,
      ...{ ownerSince: null, suspendedAt: null, updatedAt: new Date() },
    })
    await expect(inserted.execute()).rejects.toThrow('different portals')
    const moved = world.database.updateTable('memberships').set({ accountBizId: trader })
    await expect(moved.where('accountBizId', '=', consumer).execute()).rejects.toThrow('different portals')
  })

  test('members.ownerNotice: the mail links to the portal of the workspace', async () => {
    const at = world.clock.now()
    for (const [workspaceId, memberId] of [
      [idOf(workspace), owner],
      [idOf(shop), shopkeeper],
    ] as const)
      await world.database
        .transaction()
        .execute((tx) =>
          world.members.notices.queue(tx, { kind: 'OWNER_ADDED', workspaceId, actorId: null, memberId, at }),
        )
    const job = ownerNoticeJob({
      ...{ database: world.database, words, maxPerDay: 10, signInUrl },
      mailer: { send: async ({ values }) => void mails.push({ ...values }), close: async () => undefined },
      cache: { increment: async () => ({ count: 1 }) } as never,
    })
    const queued = world.database.deleteFrom('jobs').where('kind', '=', job.name).returning('payload')
    for (const { payload } of await queued.execute()) await job.work(payload, facts)
    expect(mails.map(({ url }) => url).sort()).toEqual(['https://consumer.test/', 'https://merchant.test/'])
  })
})

describe('invitations', () => {
  const invite = async (from: AccountId, portal: Portal, to: string) => {
    const roleBizId = await world.join(to, await world.account(`filler${++serial}@example.test`, portal), [])
    const body = { email, roleBizId }
    return world.call(invitations, contract.createInvitation, { as: as(from, portal), workspace: to, body })
  }
  const mine = (id: AccountId, portal: Portal) =>
    world.call(invitations, contract.listMyInvitations, { as: as(id, portal) })
  const accept = (id: AccountId, portal: Portal, invitationBizId: string) =>
    world.call(invitations, contract.acceptInvitation, { as: as(id, portal), body: { invitationBizId } })

  test('invitations.accept 404: an account with the same address at another portal neither sees nor takes it', async () => {
    const { bizId: id } = await invite(owner, 'CONSUMER', workspace)
    expect(await mine(trader, merchant)).toEqual([])
    expect(await refusalOf(accept(trader, merchant, id))).toBe('RESOURCE.NOT_FOUND')
    const declining = { as: as(trader), body: { invitationBizId: id, reason: '' } }
    expect(await refusalOf(world.call(invitations, contract.declineInvitation, declining))).toBe('RESOURCE.NOT_FOUND')
    expect((await mine(consumer, 'CONSUMER')).map((each) => each.bizId)).toEqual([id])
    expect(await accept(consumer, 'CONSUMER', id)).toMatchObject({ invitationStatus: { code: 'ACCEPTED' } })
  })

  test('invitations.accept 200: a merchant joins a workspace of merchants, and consumers do not see the invitation', async () => {
    const { bizId: id } = await invite(shopkeeper, merchant, shop)
    expect(await mine(consumer, 'CONSUMER')).toEqual([])
    expect(await refusalOf(accept(consumer, 'CONSUMER', id))).toBe('RESOURCE.NOT_FOUND')
    expect(await accept(trader, merchant, id)).toMatchObject({ invitationStatus: { code: 'ACCEPTED' } })
    expect((await world.members.enter(as(trader), shop)).id).toBe(shop)
  })

  test('invitations.create 200: the mail has the language of the account at the portal, and links to it', async () => {
    for (const [id, defaultLanguage] of [
      [consumer, 'ja'],
      [trader, 'vi'],
    ] as const)
      await world.database.updateTable('accounts').set({ defaultLanguage }).where('bizId', '=', id).execute()
    await invite(shopkeeper, merchant, shop)
    expect(mails).toMatchObject([{ to: email, locale: 'vi', url: 'https://merchant.test/' }])
  })

  test('invitations.create 400: an address that the portal refuses; another portal accepts it', async () => {
    refused.add(merchant)
    expect(await refusalOf(invite(shopkeeper, merchant, shop))).toBe('VALIDATION.INVALID_PARAMETER')
    expect(await refusalOf(invite(owner, 'CONSUMER', workspace))).toBe('none')
  })
})

describe('API keys', () => {
  const create = (owned: AccountId, portal: Portal, of: string) =>
    withSecret(
      world.call(keys.handlers, keyContract.createApiKey, {
        as: as(owned, portal),
        workspace: of,
        body: {
          ...{ apiKeyName: 'Till', permissionCodes: ['wallet:read'] },
          expiresAt: toIso((world.clock.now() + days(40)) as never),
        },
      }),
    )
  const refusal = async (token: string, portal: Portal | null) =>
    refusalOf(keys.authenticate({ token, portal, clientIp: '' }) ?? expect.fail('not an API key'))

  test('401: a key works at the portal of its workspace only', async () => {
    const { secret } = await create(shopkeeper, merchant, shop)
    const found = await keys.authenticate({ token: secret, portal: merchant, clientIp: '' })
    expect(found).toMatchObject({ caller: { portal: merchant, accountId: shopkeeper }, workspace: { id: shop } })
    expect(await refusal(secret, null)).toBe('none')
    expect(await refusal(secret, 'CONSUMER')).toBe('ACCESS.TOKEN_INVALID')
    expect(await refusal(secret, 'SYSTEM')).toBe('ACCESS.TOKEN_INVALID')
    const { secret: ofConsumer } = await create(owner, 'CONSUMER', workspace)
    expect(await refusal(ofConsumer, merchant)).toBe('ACCESS.TOKEN_INVALID')
    expect(await refusal(ofConsumer, 'CONSUMER')).toBe('none')
  })

  test('401: a key of a portal that the configuration no longer has', async () => {
    const { secret } = await create(shopkeeper, merchant, shop)
    const known = portals as Portal[]
    known.splice(known.indexOf(merchant), 1)
    try {
      for (const portal of [null, merchant]) expect(await refusal(secret, portal)).toBe('ACCESS.TOKEN_INVALID')
    } finally {
      known.push(merchant)
    }
    expect(await refusal(secret, merchant)).toBe('none')
  })

  test('apiKeys.mailExpiry and apiKeys.mailEnding: to the account at the portal of the workspace, with its link', async () => {
    const { bizId: api_key_id } = await create(shopkeeper, merchant, shop)
    world.clock.advance(days(15))
    for (const job of keys.jobs) await job.work({}, facts)
    const operator = await world.account(`operator${serial}@example.test`, 'SYSTEM')
    await world.call(keys.handlers, keyContract.disableAnyApiKey, {
      as: as(operator, 'SYSTEM'),
      params: { api_key_id },
      body: { reason: 'a test' },
    })
    await world.call(keys.handlers, keyContract.enableAnyApiKey, {
      as: as(operator, 'SYSTEM'),
      params: { api_key_id },
      body: { reason: 'a test' },
    })
    const queued = world.database.deleteFrom('jobs').where('kind', 'like', 'apiKeys.%').returning(['kind', 'payload'])
    for (const { kind, payload } of await queued.execute())
      await keys.mailJobs.find(({ name }) => name === kind)?.work(payload, facts)
    const shown = keyMails.map(([to, , values]) => [to, JSON.parse(values ?? '').url])
    const expected = [`keeper${serial}@example.test`, `https://portal.test/${merchant}`]
    expect(shown.filter(([to]) => to === `keeper${serial}@example.test`)).toEqual([expected, expected])
  })
})
