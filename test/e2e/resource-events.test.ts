import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { data, goodPassword, newcomer, otherPassword, refusal, signInAs } from '../harness/identity.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'

interface FeedEvent {
  type: string
  subject: string
  workspacebizid?: string
  data: unknown
}
/** Posts with a body, or an empty one with null. */
// biome-ignore lint/suspicious/noExplicitAny: a black-box client has no types
type Send = (path: string, body?: object | null) => Promise<any>

describe('events of what workspaces and operators manage', () => {
  let portico: Portico
  let workspace: string
  let founder: Person
  let second: Person
  let operator: Send
  let checker: Send
  const secrets: string[] = []
  /** The types of all events of each object, by its id. */
  const expected = new Map<string, { read: Send; types: string[] }>()

  type Person = Awaited<ReturnType<typeof person>>
  const person = async () => {
    const { by, ...found } = await newcomer(portico)
    let { token } = found
    secrets.push(token, found.session.refreshToken)
    const send = async (path: string, body?: object | null, within: string | undefined = workspace) => {
      const headers = { 'x-request-id': randomUUID(), ...(within !== undefined && { 'x-workspace-id': within }) }
      const isRead = body === undefined
      return isRead ? by.get(path, token, headers) : by.post(path, body ?? undefined, token, headers)
    }
    const call: Send = async (path, body) => data(await send(path, body))
    return {
      ...found,
      send,
      call,
      signInAgain: async (password: string) => {
        const session = await signInAs(portico, by, found.email, password)
        token = session.accessToken
        return session.sessionId
      },
    }
  }
  const operatorOf = async (email: string): Promise<Send> => {
    const { accessToken: token } = await signIn(portico, email)
    return async (path, body) =>
      data(
        await portico.call(body === undefined ? 'GET' : 'POST', `/web/v1/system${path}`, {
          token,
          headers: { 'x-request-id': randomUUID() },
          ...(body && { body }),
        }),
      )
  }
  const eventsOf = async (read: Send, subject: string): Promise<FeedEvent[]> => {
    const found: FeedEvent[] = []
    for (let after = '0', hasMore = true; hasMore; ) {
      const feed = await read(`/events?limit=500&after=${after}`)
      found.push(...feed.events)
      ;({ nextCursor: after, hasMore } = feed)
    }
    return found.filter((event) => event.subject === subject)
  }
  /** A member and an account have the same id. */
  const typesOf = async (read: Send, subject: string, [first = '']: string[]): Promise<string[]> => {
    const types = (await eventsOf(read, subject)).map(({ type }) => type)
    return types.filter((type) => type.split('.')[0] === first.split('.')[0])
  }
  /** Waits for exactly these events of an object. The last one must have the view. */
  const assertEvents = async (read: Send, subject: string, types: string[], view?: unknown): Promise<void> => {
    expected.set(subject, { read, types })
    await expect.poll(() => typesOf(read, subject, types)).toEqual(types)
    if (view !== undefined) expect((await eventsOf(read, subject)).at(-1)?.data).toEqual(view)
  }
  const outside = (text: string) => sql.raw(text).execute(portico.running.database)
  const invite = async (by: Person, email: string, roleBizId: string) =>
    by.call('/invitations', { email, roleBizId, message: 'Welcome' })
  const join = async (by: Person, guest: Person, roleBizId: string) => {
    const invitation = await invite(by, guest.email, roleBizId)
    data(await guest.send('/profile/invitations/accept', { invitationBizId: invitation.bizId }))
    return invitation.bizId
  }
  const memberView = async (accountId: string) =>
    (await founder.call('/roles/members')).items.find((each: { userBizId: string }) => each.userBizId === accountId)
  const invitationView = async (id: string) =>
    (await founder.call('/invitations')).find((each: { bizId: string }) => each.bizId === id)
  const channelView = async (id: string) =>
    (await founder.call('/withdrawal-channels')).find((each: { bizId: string }) => each.bizId === id)
  const ownerRole = async (): Promise<string> =>
    (await founder.call('/roles')).find(({ roleType }: { roleType: { code: string } }) => roleType.code === 'OWNER')
      .bizId
  const createRole = (permissionCodes: string[]) =>
    founder.call('/roles', { roleName: randomUUID().slice(0, 30), permissionCodes })
  const recover = async (who: Person) => {
    const body = { currentPassword: goodPassword, newPassword: otherPassword, suspendCredentials: true }
    data(await who.send('/auth/password/change', body))
  }

  beforeAll(async () => {
    portico = await startPortico()
    // Keeps what the sequencer removes.
    await outside('CREATE TABLE outbox_copy AS SELECT * FROM event_outbox WITH NO DATA')
    await outside(`CREATE FUNCTION copy_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO outbox_copy SELECT NEW.*; RETURN NULL; END $$`)
    await outside(`CREATE TRIGGER copy_outbox AFTER INSERT ON event_outbox
      FOR EACH ROW EXECUTE FUNCTION copy_outbox()`)
    operator = await operatorOf('operator@demo.test')
    checker = await operatorOf('checker@demo.test')
    founder = await person()
    const current = await founder.call('/workspaces/current')
    workspace = current.bizId
    second = await person()
  })
  afterAll(() => portico?.stop())

  test('wallets and the workspace: each status is one event with the view of members', async () => {
    const [{ bizId }] = await founder.call('/wallets')
    for (const change of ['freeze', 'unfreeze', 'freeze', 'close'])
      await operator(`/wallets/${bizId}/${change}`, { reason: 'Ends' })
    const types = ['wallet.active', 'wallet.frozen', 'wallet.active', 'wallet.frozen', 'wallet.closed']
    await assertEvents(founder.call, bizId, types, await founder.call(`/wallets/${bizId}`))
    await assertEvents(operator, bizId, types)
    for (const change of ['freeze', 'unfreeze'])
      await operator(`/workspaces/${workspace}/${change}`, { reason: 'Test' })
    const ofWorkspace = ['workspace.active', 'workspace.frozen', 'workspace.active']
    await assertEvents(founder.call, workspace, ofWorkspace, await founder.call('/workspaces/current'))
  })

  test('roles and members: joined, another role, limits, removed; nothing without a change', async () => {
    const role = await createRole(['wallet:read'])
    const of = { roleBizId: role.bizId }
    await founder.call('/roles/update', { ...of, roleName: role.roleName })
    await founder.call('/roles/update', { ...of, description: 'For visitors' })
    await founder.call('/roles/permissions', { ...of, permissionCodes: ['wallet:read', 'role:read'] })
    const view = await founder.call(`/roles/${role.bizId}`)
    await assertEvents(founder.call, role.bizId, ['role.created', 'role.changed', 'role.changed'], view)
    const guest = await person()
    await join(founder, guest, role.bizId)
    await assertEvents(founder.call, guest.accountId, ['member.joined'], await memberView(guest.accountId))
    const other = await createRole([])
    await founder.call('/roles/members/role/change', { userBizId: guest.accountId, roleBizId: other.bizId })
    const policyConfig = { readOnly: true }
    const limits = { userBizId: guest.accountId, policyConfig, reason: 'Test' }
    await operator(`/workspaces/${workspace}/members/policy`, limits)
    const changes = ['member.joined', 'member.role_changed', 'member.limits_changed']
    await assertEvents(founder.call, guest.accountId, changes, await memberView(guest.accountId))
    await founder.call('/roles/members/remove', { userBizId: guest.accountId })
    await assertEvents(founder.call, guest.accountId, [...changes, 'member.removed'])
    await founder.call('/roles/delete', of)
    await assertEvents(founder.call, role.bizId, ['role.created', 'role.changed', 'role.changed', 'role.deleted'], view)
  })

  test('invitations: pending, accepted, declined, cancelled, expired, with the view of members', async () => {
    const { bizId: role } = await createRole([])
    const [accepted, declined, cancelled, expired] = [await person(), await person(), await person(), await person()]
    const id = await join(founder, accepted, role)
    await assertEvents(founder.call, id, ['invitation.pending', 'invitation.accepted'], await invitationView(id))
    const { bizId: toDecline } = await invite(founder, declined.email, role)
    data(await declined.send('/profile/invitations/decline', { invitationBizId: toDecline, reason: 'Busy' }))
    const ofDeclined = ['invitation.pending', 'invitation.declined']
    await assertEvents(founder.call, toDecline, ofDeclined, await invitationView(toDecline))
    const { bizId: toCancel } = await invite(founder, cancelled.email, role)
    await founder.call('/invitations/cancel', { invitationBizId: toCancel })
    await assertEvents(founder.call, toCancel, ['invitation.pending', 'invitation.cancelled'])
    const { bizId: toExpire } = await invite(founder, expired.email, role)
    await outside(`UPDATE invitations SET expires_at = created_at WHERE biz_id = '${toExpire}'`)
    const seen = await invitationView(toExpire)
    expect(seen.invitationStatus.code).toBe('EXPIRED')
    await portico.running.runJob('invitations.expire', {})
    await assertEvents(founder.call, toExpire, ['invitation.pending', 'invitation.expired'], seen)
  })

  test('payout accounts and API keys: verified, rejected, disabled, deleted; nothing for the use of a key', async () => {
    const account = payoutAccount()
    secrets.push(account.accountNumber)
    const { bizId: channel } = await founder.call('/withdrawal-channels', account)
    await operator(`/withdrawal-channels/${channel}/verify`, null)
    await operator(`/withdrawal-channels/${channel}/reject`, { reason: 'Closed' })
    const changes = ['pending_verification', 'active', 'disabled'].map((status) => `withdrawal_channel.${status}`)
    await assertEvents(founder.call, channel, changes, await channelView(channel))
    await assertEvents(operator, channel, changes)
    const { bizId: toReject } = await founder.call('/withdrawal-channels', payoutAccount())
    await operator(`/withdrawal-channels/${toReject}/reject`, { reason: 'Unknown' })
    await assertEvents(founder.call, toReject, [
      'withdrawal_channel.pending_verification',
      'withdrawal_channel.rejected',
    ])
    const body = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
    const { bizId: key, secret } = await founder.call('/api-keys', body)
    secrets.push(secret)
    const used = await portico.call('GET', '/api/v1/consumer/wallets', {
      headers: { authorization: `Bearer ${secret}` },
    })
    expect(used.status).toBe(200)
    for (const command of ['disable', 'enable']) await founder.call(`/api-keys/${command}`, { apiKeyBizId: key })
    await operator(`/api-keys/${key}/disable`, { reason: 'Leaked' })
    const ofKey = ['active', 'disabled', 'active', 'disabled'].map((status) => `api_key.${status}`)
    await assertEvents(founder.call, key, ofKey, await founder.call(`/api-keys/${key}`))
    await founder.call('/api-keys/delete', { apiKeyBizId: key })
    await assertEvents(founder.call, key, [...ofKey, 'api_key.deleted'], await founder.call(`/api-keys/${key}`))
  })

  test('a recovered account: what it suspends, and each confirmation, is an event', async () => {
    await join(founder, second, await ownerRole())
    const { bizId: role } = await createRole([])
    const [guest, invited] = [await person(), await person()]
    await join(second, guest, role)
    const { bizId: invitation } = await invite(second, invited.email, role)
    const { bizId: key } = await second.call('/api-keys', { apiKeyName: 'Second', permissionCodes: ['wallet:read'] })
    const { bizId: channel } = await second.call('/withdrawal-channels', payoutAccount())
    await recover(second)
    const suspended: [id: string, types: string[]][] = [
      [key, ['api_key.active', 'api_key.suspended']],
      [channel, ['withdrawal_channel.pending_verification', 'withdrawal_channel.suspended']],
      [invitation, ['invitation.pending', 'invitation.suspended']],
      [guest.accountId, ['member.joined', 'member.suspended']],
    ]
    for (const [id, types] of suspended) await assertEvents(founder.call, id, types)
    await founder.call(`/withdrawal-channels/${channel}/reactivate`, null)
    await founder.call('/invitations/confirm', { invitationBizId: invitation })
    await founder.call('/roles/members/restore', { userBizId: guest.accountId })
    const restored = await memberView(guest.accountId)
    await assertEvents(
      founder.call,
      guest.accountId,
      ['member.joined', 'member.suspended', 'member.restored'],
      restored,
    )
    const again = ['invitation.pending', 'invitation.suspended', 'invitation.pending']
    await assertEvents(founder.call, invitation, again, await invitationView(invitation))
    const pending = [...(suspended[1]?.[1] ?? []), 'withdrawal_channel.pending_verification']
    await assertEvents(founder.call, channel, pending, await channelView(channel))
  })

  test('accounts and sessions: operators see each status, sign-in and sign-out; nothing for activity', async () => {
    const someone = await person()
    const first = someone.session.sessionId
    await assertEvents(operator, someone.accountId, ['account.active'])
    await someone.call('/profile')
    await outside(`UPDATE sessions SET last_activity_at = last_activity_at + interval '1 second',
      stepped_up_at = now() WHERE biz_id = '${first}'`)
    await someone.call('/auth/logout', null)
    await assertEvents(operator, first, ['session.started', 'session.ended'], {
      bizId: first,
      accountBizId: someone.accountId,
      accountPortal: expect.objectContaining({ code: 'CONSUMER' }),
      startedAt: expect.any(String),
      endedAt: expect.any(String),
      endReason: 'LOGOUT',
    })
    const next = await someone.signInAgain(goodPassword)
    await operator(`/accounts/${someone.accountId}/suspend`, { reason: 'Test' })
    await assertEvents(operator, next, ['session.started', 'session.ended'])
    await operator(`/accounts/${someone.accountId}/reactivate`, null)
    const statuses = ['account.active', 'account.suspended', 'account.active']
    await assertEvents(operator, someone.accountId, statuses, await operator(`/accounts/${someone.accountId}`))
    await outside(`DELETE FROM sessions WHERE biz_id = '${next}'`)
  })

  test('proposals: each decision, and the permissions that it gives', async () => {
    const operators = (await operator('/operators?pageSize=100')).items
    const of = (email: string) => operators.find(({ accountEmail }: { accountEmail: string }) => accountEmail === email)
    const { bizId: account, permissionCodes } = of('operator@demo.test')
    const propose = (by: Send, codes: string[]) =>
      by(`/operators/${account}/permissions/propose`, { permissionCodes: codes, reason: 'Test' })
    const fewer = permissionCodes.filter((code: string) => code !== 'ledger:read')
    const { bizId: rejected } = await propose(checker, fewer)
    await checker(`/proposals/${rejected}/reject`, { reason: 'Test' })
    await assertEvents(operator, rejected, ['proposal.pending', 'proposal.rejected'])
    const revoked = await checker(`/operators/${account}/permissions/revoke`, {
      permissionCodes: ['ledger:read'],
      reason: 'Test',
    })
    const view = (await checker('/operators?pageSize=100')).items.find(
      (each: { bizId: string }) => each.bizId === account,
    )
    await assertEvents(checker, revoked.bizId, ['proposal.done'], revoked)
    const changes = async () =>
      (await eventsOf(checker, account)).filter(({ type }) => type === 'operator.permissions_changed')
    await expect.poll(async () => (await changes()).at(-1)?.data).toEqual(view)
  })

  test('events.list 200: each of these changes is one event, also later', async () => {
    expect(expected.size).toBeGreaterThanOrEqual(20)
    for (const [subject, { read, types }] of expected) expect(await typesOf(read, subject, types)).toEqual(types)
  })

  test('events.list 200, 403: only the types that the reader can read, only in the own workspace', async () => {
    const { bizId: role } = await createRole(['event:read', 'wallet:read'])
    const guest = await person()
    await join(founder, guest, role)
    const { events } = await guest.call('/events?limit=500')
    const objects = new Set(events.map(({ type }: FeedEvent) => type.split('.')[0]))
    expect(objects).toEqual(new Set(['wallet']))
    for (const type of ['member.joined', 'invitation.pending', 'api_key.active', 'withdrawal_channel.active'])
      expect(refusal(await guest.send(`/events?type=${type}`))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    expect(refusal(await guest.send('/events?type=session.started'))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    // Without X-Workspace-Id, a request is about the default workspace.
    const own = data(await guest.send('/workspaces/mine')).find(({ isDefault }: { isDefault: boolean }) => isDefault)
    const elsewhere = data(await guest.send('/events?limit=500', undefined, own.workspaceBizId))
    expect(elsewhere.events.length).toBeGreaterThan(0)
    const workspaces = new Set(elsewhere.events.map(({ workspacebizid }: FeedEvent) => workspacebizid))
    expect(workspaces).toEqual(new Set([own.workspaceBizId]))
    // No operator reads invitations or roles.
    const all = await operator('/events?limit=500&type=member.joined,wallet.active')
    expect(all.events.length).toBeGreaterThan(0)
    for (const type of ['invitation.pending', 'role.created'])
      await expect(operator(`/events?type=${type}`)).rejects.toThrow('ACCESS.PERMISSION_DENIED')
  })

  test('event_outbox and events: no secret, no digest, no whole account number', async () => {
    const textOf = async (query: string): Promise<string[]> => {
      const { rows } = await sql.raw<{ text: string }>(query).execute(portico.running.database)
      return rows.map(({ text }) => text)
    }
    const recorded = (
      await textOf(
        `SELECT to_jsonb(e)::text AS text FROM events e UNION ALL SELECT to_jsonb(o)::text FROM outbox_copy o`,
      )
    ).join('\n')
    expect(recorded).toContain('****')
    const stored = await textOf(`
      SELECT password_hash AS text FROM accounts WHERE password_hash IS NOT NULL
      UNION SELECT encode(secret_digest, 'hex') FROM api_keys
      UNION SELECT encode(account_sealed, 'hex') FROM withdrawal_channels
      UNION SELECT encode(account_digest, 'hex') FROM withdrawal_channels
      UNION SELECT encode(client_digest, 'hex') FROM sessions`)
    expect(stored.length).toBeGreaterThan(10)
    const found = [...secrets, ...stored, goodPassword, otherPassword].filter((each) => recorded.includes(each))
    expect(found).toEqual([])
  })

  test.each([
    [
      'wallet.closed',
      `UPDATE ledger_accounts SET status = 'CLOSED' WHERE kind = 'WALLET' AND balance = 0 AND held = 0`,
    ],
    [
      'withdrawal_channel.disabled',
      `UPDATE withdrawal_channels SET channel_status = 'DISABLED', suspended_status = NULL`,
    ],
    ['invitation.declined', `UPDATE invitations SET invitation_status = 'DECLINED'`],
    ['api_key.disabled', `UPDATE api_keys SET api_key_status = 'DISABLED'`],
    ['role.changed', `UPDATE roles SET description = 'From outside'`],
  ])('%s: also SQL from outside makes the event', async (type, update) => {
    const count = async () => (await founder.call(`/events?limit=500&type=${type}`)).events.length
    const before = await count()
    const fresh = randomUUID().slice(0, 30)
    if (type.startsWith('api_key'))
      await founder.call('/api-keys', { apiKeyName: fresh, permissionCodes: ['wallet:read'] })
    if (type.startsWith('withdrawal')) await founder.call('/withdrawal-channels', payoutAccount())
    await outside(`${update}${update.includes('WHERE') ? ' AND' : ' WHERE'} workspace_biz_id = '${workspace}'`)
    await expect.poll(count).toBeGreaterThan(before)
  })

  test.each([
    ['account.pending_approval', `UPDATE accounts SET account_status = 'PENDING_APPROVAL'`],
    ['account.rejected', `UPDATE accounts SET account_status = 'REJECTED'`],
  ])('%s: also SQL from outside makes the event', async (type, update) => {
    const someone = await person()
    await outside(`${update} WHERE biz_id = '${someone.accountId}'`)
    await assertEvents(operator, someone.accountId, ['account.active', type])
  })
})
