import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn, type Session, signIn } from '../harness/sign-in.ts'

const consumer = '/web/v1/consumer'
const unknownId = '01990000-0000-7000-8000-00000000dead'

describe('operators', () => {
  let portico: Portico
  let operator: Session
  const { workspace, mainUsd, savingsUsd } = developmentIds

  beforeAll(async () => {
    portico = await startPortico({
      pace: { pollMs: 50 },
      adjust: (settings) => {
        settings.portals.CONSUMER.selfRegistration = 'approval'
        settings.publicUrl = 'https://portal.example.com/app/'
        settings.portals.CONSUMER.links.signIn = '/sign-in'
      },
    })
    operator = await signIn(portico, 'operator@demo.test')
  })
  afterAll(() => portico?.stop())

  const call = (method: string, path: string, body?: object) =>
    portico.call(method, `/web/v1/system${path}`, { token: operator.accessToken, ...(body && { body }) })
  const code = ({ status, body }: { status: number; body: { code?: string } | null }) => [status, body?.code]
  const conflict = [409, 'STATE.CONFLICT']
  const notFound = [404, 'RESOURCE.NOT_FOUND']

  const post = async (path: string, body: object) => {
    const response = await portico.call('POST', consumer + path, { body })
    expect(response.status, response.text).toBe(200)
    return response.body.data
  }
  const password = 'a-rather-long-passphrase-2026'
  /** The account waits for approval. */
  const register = async (email: string, defaultLanguage = 'en'): Promise<string> => {
    const { sessionId } = await post('/auth/register/initiate', { email, turnstileToken: 'x' })
    const { text } = await portico.mailTo(email, 'registration-code')
    await post('/auth/register/verify-email', { sessionId, code: codeIn(text) })
    const create = await post('/auth/register/complete', { sessionId, accountName: 'New Person', defaultLanguage })
    expect(create).toMatchObject({ pendingApproval: true, accountStatus: { code: 'PENDING_APPROVAL' } })
    await post('/auth/password/init', { token: create.passwordInitToken, newPassword: password })
    return create.accountBizId
  }
  const initiate = (email: string) =>
    portico.call('POST', `${consumer}/auth/login/initiate`, { body: { email, password } })
  const idOf = async (email: string): Promise<string> => {
    const list = await call('GET', `/accounts?accountEmail=${encodeURIComponent(email)}`)
    return list.body.data.items[0].bizId
  }

  test("operators.approveAccount 200: approves a registration and sends a mail in the account's language", async () => {
    const id = await register('new@demo.test', 'ja')
    expect((await initiate('new@demo.test')).body.data).toMatchObject({ sessionId: null, pendingApproval: true })
    const queue = await call('GET', '/accounts?accountStatus=PENDING_APPROVAL&accountPortal=CONSUMER')
    expect(queue.body.data.items.map((item: { bizId: string }) => item.bizId)).toContain(id)
    const approved = await call('POST', `/accounts/${id}/approve`)
    expect(approved.status, approved.text).toBe(200)
    expect(approved.body.data).toMatchObject({ bizId: id, accountStatus: { code: 'ACTIVE' }, lastLoginAt: null })
    const mail = await portico.mailTo('new@demo.test', 'account-decision')
    expect(mail.locale).toBe('ja')
    expect(mail.text).toContain('ご登録が承認されました')
    expect(mail.text).toContain('https://portal.example.com/app/sign-in')
    expect((await initiate('new@demo.test')).body.data).toMatchObject({ pendingApproval: false })
    expect(code(await call('POST', `/accounts/${id}/approve`))).toEqual(conflict)
    expect(code(await call('POST', `/accounts/${id}/reject`, { reason: 'late' }))).toEqual(conflict)
  })

  test('portico_accounts_awaiting_approval rises with a registration and falls with the decision', async () => {
    const waiting = async () => {
      const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
      return Number(/^portico_accounts_awaiting_approval\{portal="CONSUMER"\} (\d+)$/m.exec(text)?.[1])
    }
    expect(await waiting()).toBe(0)
    const id = await register('counted@demo.test')
    await expect.poll(waiting).toBe(1)
    await call('POST', `/accounts/${id}/approve`)
    await expect.poll(waiting).toBe(0)
  })

  test('operators.rejectAccount 200: the account can never sign in, and its workspace is closed', async () => {
    const id = await register('refused@demo.test')
    const frozen = async () =>
      (await call('GET', '/workspaces?workspaceStatus=FROZEN')).body.data.pagination.totalRecords
    const before = await frozen()
    const rejected = await call('POST', `/accounts/${id}/reject`, { reason: 'no such person' })
    expect(rejected.body.data).toMatchObject({ accountStatus: { code: 'REJECTED' } })
    expect(await frozen()).toBe(before + 1)
    const text = (await portico.mailTo('refused@demo.test', 'account-decision')).text
    expect(text).toContain('Your registration has been rejected.\n\nno such person')
    expect(code(await initiate('refused@demo.test'))).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
    expect(code(await call('POST', `/accounts/${id}/approve`))).toEqual(conflict)
  })

  test('operators.suspendAccount 200 ends every session; operators.reactivateAccount 200; both send a mail', async () => {
    const member = await signIn(portico, 'member@demo.test')
    const profile = () => portico.call('GET', `${consumer}/profile`, { token: member.accessToken })
    expect((await profile()).status).toBe(200)
    const id = await idOf('member@demo.test')
    const suspended = await call('POST', `/accounts/${id}/suspend`, { reason: 'under review' })
    expect(suspended.body.data).toMatchObject({ accountStatus: { code: 'SUSPENDED' } })
    await expect.poll(async () => code(await profile())).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    await expect(signIn(portico, 'member@demo.test')).rejects.toThrow('/auth/login/initiate: 401')
    expect(code(await call('POST', `/accounts/${id}/suspend`, { reason: 'again' }))).toEqual(conflict)
    expect((await call('POST', `/accounts/${id}/reactivate`)).body.data).toMatchObject({
      accountStatus: { code: 'ACTIVE' },
    })
    expect(code(await call('POST', `/accounts/${id}/reactivate`))).toEqual(conflict)
    expect(code(await profile())).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    const { accessToken: token } = await signIn(portico, 'member@demo.test')
    expect((await portico.call('GET', `${consumer}/profile`, { token })).status).toBe(200)
    const mails = async () => (await portico.mailsTo('member@demo.test')).map(({ text }) => text).join()
    await expect.poll(mails).toContain('has been suspended. All its sessions have ended.\n\nunder review')
    await expect.poll(mails).toContain('Your account can be used again.')
  })

  test("operators.suspendAccount 403: an operator's own account", async () => {
    const own = await idOf('operator@demo.test')
    const response = await call('POST', `/accounts/${own}/suspend`, { reason: 'holiday' })
    expect(code(response)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    expect((await call('GET', `/accounts/${own}`)).body.data).toMatchObject({ accountStatus: { code: 'ACTIVE' } })
  })

  test('operators.listAuditLog 200: contains denied commands of both portals, no denied reads', async () => {
    const own = await idOf('operator@demo.test')
    const ownRequest = randomUUID()
    const suspend = `/web/v1/system/accounts/${own}/suspend`
    const headers = { 'x-request-id': ownRequest }
    await portico.call('POST', suspend, { token: operator.accessToken, headers, body: { reason: 'holiday' } })
    const member = await signIn(portico, 'member@demo.test')
    const denied = { token: member.accessToken, workspace }
    const body = { roleName: 'mine', permissionCodes: ['wallet:read'] }
    expect(code(await portico.call('POST', `${consumer}/roles`, { ...denied, body }))[0]).toBe(403)
    expect(code(await portico.call('GET', `${consumer}/wallets`, { ...denied, workspace: unknownId }))[0]).toBe(403)
    const refused = async (filter: string) =>
      (await call('GET', `/audit-log?outcome=REFUSED&${filter}`)).body.data.items
    const ownEntry = async () => {
      const entries = await refused(`actorId=${own}&action=operators.suspendAccount`)
      return entries.find((entry: { requestId: string }) => entry.requestId === ownRequest)
    }
    await expect.poll(ownEntry).toMatchObject({
      portal: { code: 'SYSTEM' },
      targetBizId: own,
      workspaceBizId: null,
      clientIp: '203.0.113.7',
      detail: { reason: 'ACCESS.PERMISSION_DENIED' },
    })
    const actor = `actorId=${await idOf('member@demo.test')}`
    const created = () => refused(`${actor}&action=roles.create`)
    await expect.poll(created).toMatchObject([{ workspaceBizId: workspace }])
    expect(await refused(`${actor}&action=wallets.list`)).toEqual([])
  })

  test('operators.terminateAccountSessions 200: returns the number of sessions', async () => {
    const id = await idOf('member@demo.test')
    const terminate = async () => (await call('POST', `/accounts/${id}/sessions/terminate`)).body.data
    const suspendedCredentials = {
      apiKeys: 0,
      invitations: 0,
      members: 0,
      roles: 0,
      webhooks: 0,
      withdrawalChannels: 0,
    }
    await terminate()
    const member = await signIn(portico, 'member@demo.test')
    await signIn(portico, 'member@demo.test')
    expect(await terminate()).toEqual({ success: true, terminatedSessions: 2, suspendedCredentials })
    const profile = () => portico.call('GET', `${consumer}/profile`, { token: member.accessToken })
    await expect.poll(async () => code(await profile())).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect(await terminate()).toEqual({ success: true, terminatedSessions: 0, suspendedCredentials })
  })

  test('operators.readAccount 200: includes the time of the last sign-in', async () => {
    const { lastLoginAt } = (await call('GET', '/security/sessions/config')).body.data
    expect(lastLoginAt).toEqual(expect.any(String))
    const account = await call('GET', `/accounts/${await idOf('operator@demo.test')}`)
    expect(account.body.data).toMatchObject({ lastLoginAt })
  })

  test('operators.readAccount 404 and similar: unknown and malformed ids', async () => {
    const responses = [
      await call('GET', `/accounts/${unknownId}`),
      await call('GET', '/accounts/nobody'),
      await call('POST', `/accounts/${unknownId}/approve`),
      await call('POST', `/accounts/${unknownId}/reject`, { reason: 'x' }),
      await call('POST', `/accounts/${unknownId}/suspend`, { reason: 'x' }),
      await call('POST', `/accounts/${unknownId}/reactivate`),
      await call('POST', `/accounts/${unknownId}/sessions/terminate`),
      await call('POST', `/workspaces/${unknownId}/freeze`, { reason: 'x' }),
      await call('POST', '/workspaces/nothing/unfreeze', { reason: 'x' }),
      await call('GET', `/ledger/orders/${unknownId}/postings`),
      await call('GET', '/ledger/orders/nothing/postings'),
    ]
    for (const response of responses) expect(code(response)).toEqual(notFound)
  })

  test('operators.freezeWorkspace 200: denies access to its members; operators.unfreezeWorkspace 200', async () => {
    const owner = await signIn(portico)
    const wallets = () => portico.call('GET', `${consumer}/wallets`, { token: owner.accessToken, workspace })
    const frozen = await call('POST', `/workspaces/${workspace}/freeze`, { reason: 'court order' })
    expect(frozen.status, frozen.text).toBe(200)
    expect(frozen.body.data).toMatchObject({ bizId: workspace, workspaceStatus: { code: 'FROZEN' } })
    expect((await wallets()).status).toBe(403)
    expect(code(await call('POST', `/workspaces/${workspace}/freeze`, { reason: 'again' }))).toEqual(conflict)
    const list = await call('GET', '/workspaces?workspaceStatus=FROZEN&workspaceName=DEMO')
    expect(list.body.data.items).toMatchObject([{ bizId: workspace, workspaceName: 'Demo workspace' }])
    const opened = await call('POST', `/workspaces/${workspace}/unfreeze`, { reason: 'lifted' })
    expect(opened.body.data).toMatchObject({ workspaceStatus: { code: 'ACTIVE' } })
    expect((await wallets()).status).toBe(200)
    expect(code(await call('POST', `/workspaces/${workspace}/unfreeze`, { reason: 'x' }))).toEqual(conflict)
  })

  test('operators.ledgerInvariants 200 and operators.orderPostings 200: ledger and order balance', async () => {
    const owner = await signIn(portico)
    const order = await portico.call('POST', `${consumer}/transfer/command/create`, {
      token: owner.accessToken,
      workspace,
      headers: { 'x-request-id': randomUUID() },
      body: { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '3.25', currency: 'USD' },
    })
    const invariants = await call('GET', '/ledger/invariants')
    expect(invariants.body.data).toMatchObject({ holds: true })
    expect(invariants.body.data.checks.length).toBeGreaterThan(5)
    const postings = await call('GET', `/ledger/orders/${order.body.data.bizId}/postings`)
    expect(postings.status, postings.text).toBe(200)
    const sides = postings.body.data.map((side: { walletBizId: string; amount: string }) => [
      side.walletBizId,
      side.amount,
    ])
    expect(sides).toHaveLength(2)
    expect(new Map(sides)).toEqual(
      new Map([
        [mainUsd, '-3.25'],
        [savingsUsd, '3.25'],
      ]),
    )
  })

  test("operators.* 401 for a consumer's token", async () => {
    const owner = await signIn(portico)
    const response = await portico.call('GET', '/web/v1/system/accounts', { token: owner.accessToken })
    expect(code(response)).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })

  test('operators.listAuditLog 200: actor, action, address and chain seal; operators.verifyAuditLog 200', async () => {
    const entries = async () =>
      (await call('GET', `/audit-log?action=operators.freezeWorkspace&workspaceId=${workspace}`)).body.data.items
    await expect.poll(async () => (await entries())[0]?.sequence).toBeGreaterThan(0)
    const [entry] = await entries()
    expect(entry).toMatchObject({
      actorBizId: await idOf('operator@demo.test'),
      targetBizId: workspace,
      outcome: { code: 'SUCCESS' },
      portal: { code: 'SYSTEM' },
      clientIp: '203.0.113.7',
      detail: { reason: 'court order' },
    })
    expect(entry.hash).toMatch(/^[0-9a-f]{64}$/)
    const before = (await call('GET', '/audit-log?pageSize=100')).body.data.items.find(
      ({ sequence }: { sequence: number | null }) => sequence === entry.sequence - 1,
    )
    expect(entry.previousHash).toBe(before.hash)
    const refused = await call('GET', '/audit-log?outcome=REFUSED&pageSize=1')
    expect(refused.body.data.items[0]).toMatchObject({ outcome: { code: 'REFUSED' } })
    const verified = await call('GET', '/audit-log/verify')
    expect(verified.body.data).toMatchObject({ intact: true, firstBrokenSequence: null })
    expect(verified.body.data.entriesChecked).toBeGreaterThan(5)
  })
})
