import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/invitations/contract.ts'
import { createInvitations, type InvitationPorts } from '../../../src/banking/invitations/index.ts'
import { leaveWorkspace } from '../../../src/banking/members/contract.ts'
import {
  type AccountId,
  days,
  type HandlerTable,
  hours,
  type Permission,
  Refusal,
  toIso,
} from '../../../src/kernel/index.ts'
import { createOutbox, type Outbox } from '../../../src/platform/mail/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { mailTexts } from '../../harness/mails.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  refusalOf,
  transactionOf,
  type World,
  words,
} from '../world.ts'

let world: World
let outbox: Outbox
let handlers: HandlerTable
let owner: AccountId
let guest: AccountId
let guestEmail: string
let workspace: string
let role: string
let settings: InvitationPorts['settings']
let mailFails = false
let lookUps = 0
let serial = 0

beforeAll(async () => {
  world = await createWorld()
  outbox = createOutbox(mailTexts, world.clock, 1_000)
  const { memberships } = world.members
  const members: InvitationPorts['members'] = {
    lock: (...call) => memberships.lock(...call),
    assertAccess: (...call) => memberships.assertAccess(...call),
    assertMayRestore: (...call) => memberships.assertMayRestore(...call),
    mayGrant: (...call) => memberships.mayGrant(...call),
    powerOf: (role) => memberships.powerOf(role),
    assertMayGrant: (...call) => memberships.assertMayGrant(...call),
    accessOf: (...call) => memberships.accessOf(...call),
    add: (...call) => memberships.add(...call),
    find: (...call) => {
      lookUps += 1
      return memberships.find(...call)
    },
  }
  const ports = {
    database: world.database,
    transaction: transactionOf(world.database),
    ids: systemIds,
    members,
    words,
  }
  const send: Outbox['send'] = async (mail) => {
    if (mailFails) throw new Error('mail server unavailable')
    await outbox.send(mail)
  }
  settings = { ...accessSettings.invitations }
  handlers = createInvitations({
    assertSessionOpen: alwaysOpen,
    ...ports,
    notices: world.members.notices,
    mailer: { send },
    signInUrl: () => 'https://portal.example',
    isRefusedEmail: () => false,
    settings,
  }).handlers
})
afterAll(() => world.close())
beforeEach(async () => {
  serial += 1
  guestEmail = `guest${serial}@example.test`
  owner = await world.account(`owner${serial}@example.test`)
  guest = await world.account(guestEmail)
  workspace = await world.workspaceOf(owner, `Workspace ${serial}`)
  const placeholder = await world.account(`placeholder${serial}@example.test`)
  role = await world.join(workspace, placeholder, ['wallet:read'])
})

function invite(email = guestEmail, as = owner, roleBizId = role, message?: string) {
  return world.call(handlers, contract.createInvitation, { as, workspace, body: { email, roleBizId, message } })
}
const accept = (invitationBizId: string, as = guest) =>
  world.call(handlers, contract.acceptInvitation, { as, body: { invitationBizId } })
const decline = (invitationBizId: string, as = guest) =>
  world.call(handlers, contract.declineInvitation, { as, body: { invitationBizId, reason: 'No, thanks' } })
const cancel = (invitationBizId: string, as = owner) =>
  world.call(handlers, contract.cancelInvitation, { as, workspace, body: { invitationBizId } })
const listed = (query: Record<string, string> = {}) =>
  world.call(handlers, contract.listInvitations, { as: owner, workspace, query })
const mine = (as = guest, query: Record<string, string> = {}) =>
  world.call(handlers, contract.listMyInvitations, { as, query })
async function permissionsOf(as: AccountId) {
  return [...(await world.members.enter(callerOf(as), workspace)).permissions]
}

describe('invitations', () => {
  test('invitations.create 200: mails in the guest’s language; the guest can list and accept it', async () => {
    await world.database.updateTable('accounts').set({ defaultLanguage: 'ja' }).where('bizId', '=', guest).execute()
    const invitation = await invite(` ${guestEmail.toUpperCase()} `, owner, role, 'Come in\nBcc: x@example.test')
    expect(invitation).toMatchObject({
      workspaceBizId: workspace,
      inviteeEmail: guestEmail,
      roleBizId: role,
      inviterBizId: owner,
      invitationStatus: { code: 'PENDING' },
      respondedAt: null,
    })
    const mail = outbox.list()[0]
    expect(mail).toMatchObject({ to: guestEmail, locale: 'ja', template: 'invitations.workspace-invitation' })
    expect(mail?.text).toContain('https://portal.example')
    const offer = `さんがワークスペース「Workspace ${serial}」に、ロール「${invitation.roleName}」であなたを招待`
    expect(mail?.text).toContain(offer)
    expect(mail?.text).toContain('招待は 7 日間有効です')
    expect(mail?.text).toContain('Come in Bcc: x@example[.]test')
    expect(await mine()).toEqual([invitation])
    expect(await listed({ invitationStatus: 'PENDING' })).toEqual([invitation])

    expect(await accept(invitation.bizId)).toMatchObject({ invitationStatus: { code: 'ACCEPTED' } })
    expect(await permissionsOf(guest)).toEqual(['wallet:read'])
    expect(await listed({ invitationStatus: 'PENDING' })).toEqual([])
    expect(await refusalOf(accept(invitation.bizId))).toBe('STATE.CONFLICT')
    expect(await refusalOf(decline(invitation.bizId))).toBe('STATE.CONFLICT')
    expect(await refusalOf(cancel(invitation.bizId))).toBe('STATE.CONFLICT')
  })

  test('invitations.create 200: same number of look-ups with and without an account', async () => {
    const countLookUps = async (email: string): Promise<number> => {
      lookUps = 0
      await invite(email)
      return lookUps
    }
    expect(await countLookUps(`nobody${serial}@example.test`)).toBe(await countLookUps(guestEmail))
  })

  test('invitations.decline 200: stores the reason', async () => {
    const { bizId, createdAt } = await invite()
    world.clock.advance(1_000)
    const at = toIso(world.clock.now())
    expect(await decline(bizId)).toMatchObject({
      invitationStatus: { code: 'DECLINED' },
      declineReason: 'No, thanks',
      ...{ createdAt, respondedAt: at, updatedAt: at },
    })
    expect(await refusalOf(accept(bizId))).toBe('STATE.CONFLICT')
    expect(await refusalOf(invite())).toBe('none')
  })

  test('invitations.cancel 200: the invitation cannot be accepted later', async () => {
    const { bizId } = await invite()
    expect(await cancel(bizId)).toMatchObject({ invitationStatus: { code: 'CANCELLED' }, respondedAt: null })
    expect(await refusalOf(accept(bizId))).toBe('STATE.CONFLICT')
  })

  test('invitations.accept 409 STATE.CONFLICT: expired; a new invitation is possible', async () => {
    const { bizId } = await invite()
    world.clock.advance(days(7))
    expect((await mine())[0]?.invitationStatus.code).toBe('EXPIRED')
    expect(await mine(guest, { invitationStatus: 'PENDING' })).toEqual([])
    expect(await refusalOf(accept(bizId))).toBe('STATE.CONFLICT')
    expect(await refusalOf(cancel(bizId))).toBe('STATE.CONFLICT')
    const expired = await mine()
    const again = await invite()
    expect(await mine(guest, { invitationStatus: 'EXPIRED' })).toEqual(expired)
    expect(await refusalOf(accept(again.bizId))).toBe('none')
  })

  test('invitations.list 200: an ended invitation retains its status after its expiry', async () => {
    const [accepting, declining] = ['accepts', 'declines'].map((who) => `${who}${serial}@example.test`)
    const ended: Record<string, string> = {}
    for (const email of [accepting, declining, guestEmail]) {
      const { bizId } = await invite(email)
      if (email === guestEmail) await cancel(bizId)
      else await (email === accepting ? accept : decline)(bizId, await world.account(email ?? ''))
      ended[bizId] = email === guestEmail ? 'CANCELLED' : email === accepting ? 'ACCEPTED' : 'DECLINED'
    }
    const readStatuses = async () => {
      const invitations = (await listed()).filter(({ bizId }) => bizId in ended)
      return Object.fromEntries(invitations.map(({ bizId, invitationStatus }) => [bizId, invitationStatus.code]))
    }
    world.clock.advance(days(8))
    expect(await readStatuses()).toEqual(ended)
    for (const email of [declining, guestEmail]) await invite(email)
    expect(await readStatuses()).toEqual(ended)
  })

  test('invitations.create 409 STATE.CONFLICT: one pending per address, under parallel calls', async () => {
    const results = await Promise.all([refusalOf(invite()), refusalOf(invite()), refusalOf(invite())])
    expect(results.sort()).toEqual(['STATE.CONFLICT', 'STATE.CONFLICT', 'none'])
  })

  test('invitations.accept 409 STATE.CONFLICT: accepted once under parallel calls', async () => {
    const { bizId } = await invite()
    const results = await Promise.all([accept(bizId), accept(bizId), decline(bizId)].map(refusalOf))
    expect(results.filter((code) => code === 'none')).toHaveLength(1)
  })

  test('invitations.accept 404 RESOURCE.NOT_FOUND: invitation to another address', async () => {
    const { bizId } = await invite()
    const stranger = await world.account(`stranger${serial}@example.test`)
    const calls = [accept(bizId, stranger), decline(bizId, stranger), accept(systemIds.next(), guest)]
    expect(await Promise.all(calls.map(refusalOf))).toEqual(Array(3).fill('RESOURCE.NOT_FOUND'))
    await world.workspaceOf(stranger)
    const foreign = world.call(handlers, contract.cancelInvitation, { as: stranger, body: { invitationBizId: bizId } })
    expect(await refusalOf(foreign)).toBe('RESOURCE.NOT_FOUND')
    expect(await mine(stranger)).toEqual([])
  })

  test('invitations.accept 404 RESOURCE.NOT_FOUND: unverified address', async () => {
    const { bizId } = await invite()
    await world.database.updateTable('accounts').set({ emailVerifiedAt: null }).where('bizId', '=', guest).execute()
    expect(await mine()).toEqual([])
    expect(await refusalOf(accept(bizId))).toBe('RESOURCE.NOT_FOUND')
  })

  test('invitations.accept 422 WORKSPACE.NOT_ACTIVE: frozen workspace', async () => {
    const { bizId } = await invite()
    const freeze = (workspaceStatus: 'ACTIVE' | 'FROZEN') =>
      world.database
        .updateTable('workspaces')
        .set({ workspaceStatus })
        .where('bizId', '=', workspace as never)
        .execute()
    await freeze('FROZEN')
    expect(await refusalOf(accept(bizId))).toBe('WORKSPACE.NOT_ACTIVE')
    await freeze('ACTIVE')
    expect(await refusalOf(accept(bizId))).toBe('none')
  })

  test('invitations.create: cancels the invitation if the e-mail fails', async () => {
    mailFails = true
    await expect(invite()).rejects.toThrow('mail server unavailable')
    mailFails = false
    expect(await listed({ invitationStatus: 'PENDING' })).toEqual([])
    const entries = await world.database
      .selectFrom('audit_log')
      .select(['action', 'outcome', 'detail'])
      .where('workspaceBizId', '=', workspace)
      .orderBy('outcome', 'desc')
      .execute()
    expect(entries).toEqual([
      { action: 'invitations.create', outcome: 'SUCCESS', detail: { role } },
      { action: 'invitations.create', outcome: 'REFUSED', detail: { reason: 'NOT_MAILED' } },
    ])
    expect(await refusalOf(invite())).toBe('none')
  })
})

describe('permissions and limits', () => {
  test('invitations.create 403 ACCESS.PERMISSION_DENIED: a role beyond the inviter’s permissions', async () => {
    const { bizId } = await invite()
    await accept(bizId)
    expect(await refusalOf(invite())).toBe('STATE.CONFLICT')
    const other = `other${serial}@example.test`
    expect(await refusalOf(invite(other, owner, systemIds.next()))).toBe('RESOURCE.NOT_FOUND')

    const manager = await world.account(`manager${serial}@example.test`)
    const permissions: Permission[] = ['invitation:manage', 'invitation:read', 'file:read']
    const managers = await world.join(workspace, manager, permissions)
    expect(await refusalOf(invite(other, manager, role))).toBe('ACCESS.PERMISSION_DENIED')
    const owners = await world.database
      .selectFrom('roles')
      .select('bizId')
      .where('workspaceBizId', '=', workspace as never)
      .where('roleType', '=', 'OWNER')
      .executeTakeFirstOrThrow()
    expect(await refusalOf(invite(other, manager, owners.bizId))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(invite(other, manager, managers))).toBe('none')
    expect(await refusalOf(invite(`${serial}boss@example.test`, owner, owners.bizId))).toBe('none')
  })

  test('invitations.create 404 RESOURCE.NOT_FOUND: role of another workspace', async () => {
    const elsewhere = await world.workspaceOf(owner, 'Elsewhere')
    const foreign = await world.join(elsewhere, guest, ['wallet:read'])
    expect(await refusalOf(invite(guestEmail, owner, foreign))).toBe('RESOURCE.NOT_FOUND')
  })

  test('invitations.create 200: ignores an account of the SYSTEM portal with the address', async () => {
    const address = `clerk${serial}@example.test`
    const clerk = await world.account(address, 'SYSTEM')
    await world.database.updateTable('accounts').set({ defaultLanguage: 'ja' }).where('bizId', '=', clerk).execute()
    const { bizId } = await invite(address)
    expect(outbox.list()[0]).toMatchObject({ to: address, locale: 'en' })
    expect(await refusalOf(accept(bizId, clerk))).toBe('RESOURCE.NOT_FOUND')
  })

  test('invitations.create 429 ACCESS.RATE_LIMITED: five per day to one address', async () => {
    const results: string[] = []
    for (let count = 0; count < 6; count++) {
      const code = await refusalOf(invite())
      results.push(code)
      if (code === 'none') await cancel((await listed({ invitationStatus: 'PENDING' }))[0]?.bizId ?? '')
    }
    expect(results).toEqual([...Array(5).fill('none'), 'ACCESS.RATE_LIMITED'])
    world.clock.advance(days(1))
    expect(await refusalOf(invite())).toBe('none')
  })

  test('invitations.create 429 ACCESS.RATE_LIMITED: Retry-After is exact for each limit', async () => {
    const refusalDetail = async (email: string) => {
      const [refused] = await Promise.allSettled([invite(email)])
      return refused.status === 'rejected' && refused.reason instanceof Refusal ? refused.reason.detail : undefined
    }
    const waitOf = async (email: string) => (await refusalDetail(email))?.retryAfter ?? 0
    const limitOf = async (email: string) => (await refusalDetail(email))?.limit
    settings.maxPerDay = 3
    settings.maxPerDayToAddress = 2
    await cancel((await invite()).bizId)
    world.clock.advance(hours(5))
    await cancel((await invite()).bizId)
    world.clock.advance(hours(1) + 1)
    expect(await waitOf(guestEmail)).toBe(18 * 3_600)
    const ofAddress = { name: 'invitations-to-address', limit: 2, windowMs: days(1), resetMs: hours(18) - 1 }
    expect(await limitOf(guestEmail)).toEqual(ofAddress)
    await invite('second@example.test')
    world.clock.advance(hours(1))
    expect(await waitOf('third@example.test')).toBe(17 * 3_600)
    const ofAll = { name: 'invitations', limit: 3, windowMs: days(1), resetMs: hours(17) - 1 }
    expect(await limitOf('third@example.test')).toEqual(ofAll)
    expect(await limitOf(guestEmail)).toEqual(ofAll)
    settings.maxPerDayToAddress = 1
    expect(await waitOf(guestEmail)).toBe(22 * 3_600)
    expect(await limitOf(guestEmail)).toEqual({ ...ofAddress, limit: 1, resetMs: hours(22) - 1 })
    world.clock.advance(hours(17) - 1)
    expect(await waitOf('third@example.test')).toBe(0)
    Object.assign(settings, accessSettings.invitations)
  })

  test('invitations.create 429 ACCESS.RATE_LIMITED: counts all workspaces of the inviter', async () => {
    settings.maxPerDay = 3
    settings.maxPerDayToAddress = 2
    const other = await world.account(`other${serial}@example.test`)
    const inviteElsewhere = async (email: string, as = owner) => {
      const where = await world.workspaceOf(as)
      const body = { email, roleBizId: await world.join(where, other, ['wallet:read']) }
      return world.call(handlers, contract.createInvitation, { as, workspace: where, body })
    }
    await invite()
    await inviteElsewhere(guestEmail)
    expect(await refusalOf(inviteElsewhere(guestEmail))).toBe('ACCESS.RATE_LIMITED')
    world.clock.advance(hours(1))
    await inviteElsewhere('second@example.test')
    expect(await refusalOf(inviteElsewhere('third@example.test'))).toBe('ACCESS.RATE_LIMITED')
    expect(await refusalOf(inviteElsewhere(guestEmail, await world.account(`next${serial}@example.test`)))).toBe('none')
    world.clock.advance(hours(23))
    expect(await refusalOf(inviteElsewhere(guestEmail))).toBe('none')
    Object.assign(settings, accessSettings.invitations)
  })

  test('invitations.create 429 ACCESS.RATE_LIMITED: counts workspaces that the inviter has left', async () => {
    settings.maxPerDay = 1
    const inviter = await world.account(`leaving${serial}@example.test`)
    const permissions: Permission[] = ['wallet:read', 'invitation:manage']
    const inviteInto = async (where: string, email: string) => {
      const body = { email, roleBizId: await world.join(where, inviter, permissions) }
      return world.call(handlers, contract.createInvitation, { as: inviter, workspace: where, body })
    }
    await inviteInto(workspace, guestEmail)
    await world.call(world.handlers, leaveWorkspace, { as: inviter, workspace })
    const elsewhere = await world.workspaceOf(await world.account(`elsewhere${serial}@example.test`))
    expect(await refusalOf(inviteInto(elsewhere, 'second@example.test'))).toBe('ACCESS.RATE_LIMITED')
    Object.assign(settings, accessSettings.invitations)
  })

  test('invitations.accept 409 STATE.CONFLICT: maximum number of workspaces; stays pending', async () => {
    world.limits.maxPerAccount = 1
    const home = await world.workspaceOf(guest)
    const { bizId } = await invite()
    expect(await refusalOf(accept(bizId))).toBe('STATE.CONFLICT')
    expect((await mine())[0]?.invitationStatus.code).toBe('PENDING')
    world.limits.maxPerAccount = 2
    expect(await refusalOf(accept(bizId))).toBe('none')
    expect(home).not.toBe(workspace)
    Object.assign(world.limits, accessSettings.workspaces)
  })

  test('invitations.create 409 STATE.CONFLICT: maximum number of pending invitations', async () => {
    settings.maxPending = 2
    const first = await invite()
    await invite('second@example.test')
    expect(await refusalOf(invite('third@example.test'))).toBe('STATE.CONFLICT')
    await cancel(first.bizId)
    expect(await refusalOf(invite('third@example.test'))).toBe('none')
    world.clock.advance(settings.lifeMs)
    expect(await refusalOf(invite('fourth@example.test'))).toBe('none')
    settings.maxPending = accessSettings.invitations.maxPending
  })
})
