import { randomUUID } from 'node:crypto'
import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { client, data, newEmail, refusal, register } from '../../harness/identity.ts'
import type { Portico } from '../../harness/portico.ts'
import {
  enter,
  enterAsOperator,
  enterAsOwner,
  ofConsumer,
  ofMerchant,
  type Person,
  personOf,
  startWithMerchant,
} from './world.ts'

const invalid = [400, 'VALIDATION.INVALID_PARAMETER']
const notFound = [404, 'RESOURCE.NOT_FOUND']

describe('people of two portals', () => {
  let portico: Portico
  let email: string
  let consumer: Person
  let merchant: Person
  let owner: Person
  let operator: Awaited<ReturnType<typeof enterAsOperator>>
  const registered = async (chain: string, address = newEmail()) => {
    await register(portico, address, client(portico, { chain }))
    return enter(portico, chain, address)
  }
  beforeAll(async () => {
    portico = await startWithMerchant()
    email = newEmail()
    consumer = await registered(ofConsumer, email)
    merchant = await registered(ofMerchant, email)
    owner = await enterAsOwner(portico)
    operator = await enterAsOperator(portico)
  })
  afterAll(() => portico?.stop())

  const invite = async (inviter: Person, address: string): Promise<string> => {
    const body = { roleName: `Guest ${randomUUID().slice(0, 4)}`, permissionCodes: ['wallet:read'] }
    const role = data(await inviter.post('/roles', body))
    return data(await inviter.post('/invitations', { email: address, roleBizId: role.bizId })).bizId
  }
  const invitationsOf = async (person: Person) =>
    data(await person.get('/profile/invitations')).map(({ bizId }: { bizId: string }) => bizId)
  const walletOf = async (person: Person): Promise<string> =>
    data(await person.get('/wallets')).find(({ currency }: { currency: string }) => currency === 'USD').bizId

  test('one address has two accounts and two workspaces', () => {
    expect(consumer.accountId).not.toBe(merchant.accountId)
    expect(consumer.workspace).not.toBe(merchant.workspace)
  })

  test('invitations.accept 200: only the account at the portal of the workspace sees and accepts the invitation', async () => {
    const inviter = await registered(ofMerchant)
    const invitation = await invite(inviter, email)
    const { text } = await portico.mailTo(email, 'invitations.workspace-invitation')
    expect(text).toContain('https://signin.example/')
    expect([await invitationsOf(consumer), await invitationsOf(merchant)]).toEqual([[], [invitation]])
    const body = { invitationBizId: invitation }
    expect(refusal(await consumer.post('/profile/invitations/accept', body))).toEqual(notFound)
    expect(refusal(await consumer.post('/profile/invitations/decline', { ...body, reason: '' }))).toEqual(notFound)
    expect(data(await merchant.post('/profile/invitations/accept', body)).invitationStatus.code).toBe('ACCEPTED')
    const mine = async (person: Person) =>
      data(await person.get('/workspaces/mine')).map((each: { workspaceBizId: string }) => each.workspaceBizId)
    expect(await mine(merchant)).toContain(inviter.workspace)
    expect(await mine(consumer)).not.toContain(inviter.workspace)
    const members = data(await inviter.get('/roles/members'))
    expect(JSON.stringify(members)).toContain(merchant.accountId)
    expect(JSON.stringify(members)).not.toContain(consumer.accountId)
  })

  test('transfers.create 200: between workspaces of two portals, and no list, member or event names people of the other', async () => {
    const wallet = await walletOf(merchant)
    const transfer = { sourceWalletBizId: developmentIds.mainUsd, targetWalletBizId: wallet, amount: '12.34' }
    const sent = await owner.post('/transfer/command/create', { ...transfer, currency: 'USD' })
    expect([sent.status, sent.body.data?.transferStatus?.code], sent.text).toEqual([200, 'COMPLETED'])
    expect(data(await merchant.get(`/wallets/${wallet}/balance`)).availableBalance).toBe('12.34')
    const back = { sourceWalletBizId: wallet, targetWalletBizId: developmentIds.mainUsd, amount: '2.34' }
    expect(data(await merchant.post('/transfer/command/create', { ...back, currency: 'USD' })).amount).toBe('2.34')
    const pages = [
      ...[
        '/transfer/query/orders?pageSize=50',
        '/wallets',
        `/wallets/${wallet}/flows`,
        '/roles/members',
        '/invitations',
      ],
      ...['/workspaces/mine', '/workspaces/current', '/api-keys', '/roles', '/recharges', '/withdrawals', '/events'],
    ]
    const seen = async (person: Person, unread: string[] = []) => {
      const answers = await Promise.all(pages.map(async (page) => [page, await person.get(page)] as const))
      for (const [page, { status, text }] of answers)
        if (!unread.includes(page)) expect([page, status], text).toEqual([page, 200])
      return answers.map(([, { text }]) => text).join('\n')
    }
    const [ofMerchants, ofConsumers] = [await seen(merchant), await seen(owner, [`/wallets/${wallet}/flows`])]
    expect(ofMerchants).toContain(wallet)
    // As between any two workspaces, the order has the id of the workspace that sent it.
    for (const foreign of [owner.accountId, owner.email]) expect(ofMerchants).not.toContain(foreign)
    for (const foreign of [merchant.accountId, merchant.email]) expect(ofConsumers).not.toContain(foreign)
  })

  test('workspace 403 ACCESS.PERMISSION_DENIED: X-Workspace-Id of the workspace at the other portal', async () => {
    const denied = [403, 'ACCESS.PERMISSION_DENIED']
    for (const [person, other] of [
      [consumer, merchant],
      [merchant, consumer],
    ] as const) {
      const headers = { 'x-workspace-id': other.workspace }
      for (const path of ['/wallets', '/roles/members', '/events', '/workspaces/current'])
        expect([path, ...refusal(await person.get(path, headers))]).toEqual([path, ...denied])
      expect(refusal(await person.post('/wallets', { currency: 'EUR' }, headers))).toEqual(denied)
      expect(refusal(await person.post('/workspaces/current/default', {}, headers))).toEqual(denied)
    }
  })

  test('operators.accounts 200 with accountPortal=MERCHANT, 400 for a portal that the configuration does not have', async () => {
    const page = data(await operator.get(`/accounts?accountPortal=MERCHANT&accountEmail=${encodeURIComponent(email)}`))
    const accountPortal = {
      ...{ code: 'MERCHANT', value: 10010111 },
      ...{ label: 'Merchant portal', description: 'Merchant portal' },
    }
    expect(page.items).toMatchObject([{ bizId: merchant.accountId, accountPortal }])
    for (const unknown of ['OTHER', 'MERCHANTS', 'merchant', 'MERCHANT,CONSUMER'])
      expect([unknown, ...refusal(await operator.get(`/accounts?accountPortal=${unknown}`))]).toEqual([
        unknown,
        ...invalid,
      ])
  })

  test('operators.suspendAccount 200: suspends the account at MERCHANT, and not that at CONSUMER', async () => {
    const address = newEmail()
    const [one, other] = [await registered(ofMerchant, address), await registered(ofConsumer, address)]
    data(await operator.post(`/accounts/${one.accountId}/suspend`, { reason: 'Under review' }))
    expect(refusal(await one.get('/profile'))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect((await other.get('/profile')).status).toBe(200)
    const decided = (await portico.mailTo(address, 'account-decision')).text
    expect(decided).toContain('https://signin.example/')
    data(await operator.post(`/accounts/${one.accountId}/reactivate`))
    expect((await enter(portico, ofMerchant, address)).accountId).toBe(one.accountId)
  })

  test('proposals.resetFactor 200: resets the factors of an account at MERCHANT', async () => {
    const one = await registered(ofMerchant)
    const { secret } = data(await one.post('/security/mfa/otp/setup'))
    data(await one.post('/security/mfa/otp/verify', { code: generateSync({ secret }) }))
    const proposed = await operator.post(`/accounts/${one.accountId}/factors/reset`, { reason: 'Lost phone' })
    expect(data(proposed).proposalStatus.code).toBe('DONE')
    expect(refusal(await one.get('/profile'))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect((await enter(portico, ofMerchant, one.email)).accountId).toBe(one.accountId)
  })

  test('operators.freezeWorkspace 200: a workspace of MERCHANT', async () => {
    const one = await registered(ofMerchant)
    data(await operator.post(`/workspaces/${one.workspace}/freeze`, { reason: 'Under review' }))
    const opened = () => one.post('/roles', { roleName: 'Till', permissionCodes: ['wallet:read'] })
    expect(refusal(await opened())).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    data(await operator.post(`/workspaces/${one.workspace}/unfreeze`, { reason: 'Reviewed' }))
    expect((await opened()).status).toBe(200)
  })

  test('webhooks.create 400: a receiver at a name of any portal', async () => {
    const receiver = (host: string) => ({ url: `https://${host}/hook`, eventTypes: ['*'] })
    for (const person of [merchant, consumer])
      for (const host of ['merchant.example', 'MERCHANT.example.', 'signin.example', 'merchant.example:8443'])
        expect([host, ...refusal(await person.post('/webhooks', receiver(host)))]).toEqual([host, ...invalid])
    expect((await merchant.post('/webhooks', receiver('elsewhere.example'))).status).toBe(200)
  })

  test('workspaces.create 200: a second workspace of a merchant is of MERCHANT, too', async () => {
    const { bizId } = data(await merchant.post('/workspaces', { workspaceName: 'Second', workspaceKind: 'LIVE' }))
    const second = personOf(merchant, { ...merchant, workspace: bizId })
    const stranger = await registered(ofConsumer)
    const invitation = await invite(second, stranger.email)
    expect(await invitationsOf(stranger)).toEqual([])
    expect(refusal(await stranger.post('/profile/invitations/accept', { invitationBizId: invitation }))).toEqual(
      notFound,
    )
  })
})
