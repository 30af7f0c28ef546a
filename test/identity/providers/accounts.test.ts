import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../../src/database/index.ts'
import type { IdentityPorts } from '../../../src/identity/index.ts'
import { completeLogin, sendLoginCode } from '../../../src/identity/login/contract.ts'
import { resetPassword } from '../../../src/identity/passwords/contract.ts'
import * as contract from '../../../src/identity/providers/contract.ts'
import { readOwnSessionConfig } from '../../../src/identity/sessions/contract.ts'
import { type AccountId, type Caller, conflict, toDate } from '../../../src/kernel/index.ts'
import { call, codeOf, createRequestContext, credential, initiate, mailedCode, runJobs } from '../harness.ts'
import { newPassword, requestResetLink, resetTokenOf } from '../recovery.ts'
import { type ProviderWorld, personOf, providerWorld, replyOf } from './world.ts'

const system = { portal: 'SYSTEM' } as const
type Rights = Parameters<IdentityPorts['applyProviderRights']>[1]

let rights: Rights[] = []
let isLastManager = false
let world: ProviderWorld
async function open(more: Parameters<typeof providerWorld>[0]) {
  world = await providerWorld(more, (ports) => {
    ports.applyProviderRights = async (_tx, change) => {
      if (isLastManager) throw conflict('the last active operator who can manage operators')
      rights.push(change)
    }
    ports.permissionsOfRole = (role) => (role === 'auditor' ? ['audit:read'] : ['audit:read', 'ledger:read'])
  })
}

async function callerOf(accessToken: string | undefined): Promise<Caller> {
  return world.at.identity.authentication.accessToken(credential(accessToken ?? '', system))
}

async function signedInCaller(): Promise<Caller> {
  return callerOf((await world.signIn()).completed?.accessToken)
}

function invoke<O extends Parameters<typeof call>[1]>(operation: O, caller: Caller, body: unknown = null) {
  return call(world.at.identity, operation, createRequestContext(world.at.clock, system), body, caller)
}

async function linkOf(caller: Caller) {
  const started = await invoke(contract.initiateProviderLink, caller, { providerId: 'company' })
  const reply = await world.provider.visit(started.authorizationUrl)
  return replyOf({ sessionId: started.sessionId, reply })
}

async function localCaller(email: string): Promise<Caller> {
  await world.at.account(email, system)
  const { sessionId } = await initiate(world.at, email, system)
  await call(world.at.identity, sendLoginCode, createRequestContext(world.at.clock, system), {
    ...{ sessionId, mfaMethod: 'EMAIL' },
  })
  const body = { sessionId, mfaMethod: 'EMAIL', code: mailedCode(world.at, email) }
  const completed = await call(world.at.identity, completeLogin, createRequestContext(world.at.clock, system), body)
  return callerOf(completed.accessToken)
}

const accountsWith = (email: string) =>
  world.at.ports.database.selectFrom('accounts').select('bizId').where('emailCanonical', '=', email).execute()
const auditOf = async (event: string) => {
  const all = await world.at.ports.database.selectFrom('audit_log').select(['actorBizId', 'detail']).execute()
  return all.filter(({ detail }) => JSON.stringify(detail).includes(event))
}

describe('provisioning none', () => {
  beforeAll(() => open({ provisioning: 'none' }))
  afterAll(() => world.close())

  test('auth.providerComplete 403: unknown people, and people whose address has an account, get one answer', async () => {
    await world.at.account('known@company.test', system)
    for (const email of ['known@company.test', 'unknown@company.test']) {
      world.provider.person = personOf(email)
      expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    }
    expect(await world.at.ports.database.selectFrom('provider_identities').selectAll().execute()).toEqual([])
    expect(await accountsWith('unknown@company.test')).toEqual([])
  })

  test('providers.link 200: the owner links the account, with an audit entry and a mail', async () => {
    const caller = await localCaller('owner@company.test')
    world.provider.person = personOf('elsewhere@other.test')
    expect(await invoke(contract.linkProvider, caller, await linkOf(caller))).toMatchObject({ providerId: 'company' })
    expect(await invoke(readOwnSessionConfig, caller)).toMatchObject({ ssoEnabled: true })
    await runJobs(world.at)
    const mail = world.at.outbox.list().find(({ to }) => to === 'owner@company.test')
    expect(mail?.text).toContain('linked to an identity provider')
    expect(await auditOf('LINKED')).toEqual([expect.objectContaining({ actorBizId: caller.accountId })])
    expect((await signedInCaller()).accountId).toBe(caller.accountId)
    expect(await invoke(contract.listLinkedProviders, caller)).toMatchObject([
      { providerId: 'company', name: 'Company', lastSignInAt: expect.any(String) },
    ])
  })

  test('auth.loginInitiate 401: the password of a linked account is refused like a wrong one', async () => {
    const refusal = codeOf(initiate(world.at, 'owner@company.test', system))
    expect(await refusal).toBe('AUTH.INVALID_CREDENTIALS')
    const history = world.at.ports.database.selectFrom('login_history').select('failureReason')
    expect(await history.where('loginResult', '=', 0).execute()).toEqual([{ failureReason: 'INVALID_CREDENTIALS' }])
    // The provider of another portal changes nothing.
    await world.at.account('owner@company.test')
    expect((await initiate(world.at, 'owner@company.test')).sessionId).not.toBeNull()
  })

  test('providers.link 409: a person has one account, and an account one person of a provider', async () => {
    const second = await localCaller('second@company.test')
    const reply = await linkOf(second)
    expect(await codeOf(invoke(contract.linkProvider, second, reply))).toBe('STATE.CONFLICT')
    const linked = await signedInCaller()
    const again = invoke(contract.initiateProviderLink, linked, { providerId: 'company' })
    expect(await codeOf(again)).toBe('STATE.CONFLICT')
  })

  test('providers.link 404: an attempt of another session', async () => {
    const [one, two] = [await localCaller('three@company.test'), await localCaller('four@company.test')]
    world.provider.person = personOf('stranger@company.test')
    const reply = await linkOf(one)
    expect(await codeOf(invoke(contract.linkProvider, two, reply))).toBe('AUTH.SESSION_NOT_FOUND')
    const asSignIn = call(
      world.at.identity,
      contract.linkProvider,
      createRequestContext(world.at.clock, system),
      reply,
      two,
    )
    expect(await codeOf(asSignIn)).toBe('AUTH.SESSION_NOT_FOUND')
  })

  test('providers.unlink 200: ends the other sessions, and the password counts again', async () => {
    world.provider.person = personOf('elsewhere@other.test')
    const [caller, other] = [await signedInCaller(), await signedInCaller()]
    expect(await invoke(contract.unlinkProvider, caller, { providerId: 'company' })).toMatchObject({ success: true })
    const open = world.at.ports.database.selectFrom('sessions').select('bizId').where('endedAt', 'is', null)
    const ids = (await open.where('accountBizId', '=', caller.accountId).execute()).map(({ bizId }) => bizId)
    expect(ids).toEqual([caller.sessionId])
    expect(ids).not.toContain(other.sessionId)
    expect(await invoke(readOwnSessionConfig, caller)).toMatchObject({ ssoEnabled: false })
    expect((await initiate(world.at, 'owner@company.test', system)).sessionId).not.toBeNull()
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    const again = invoke(contract.unlinkProvider, caller, { providerId: 'company' })
    expect(await codeOf(again)).toBe('RESOURCE.NOT_FOUND')
  })

  test('password.reset 200: unlinks what a thief may have linked, and the password counts again', async () => {
    const caller = await localCaller('robbed@company.test')
    world.at.clock.advance(1_000)
    world.provider.person = personOf('thief@evil.test')
    await invoke(contract.linkProvider, caller, await linkOf(caller))
    expect((await signedInCaller()).accountId).toBe(caller.accountId)
    await requestResetLink(world.at, 'robbed@company.test', system)
    const body = { token: resetTokenOf(world.at, 'robbed@company.test'), newPassword }
    await call(world.at.identity, resetPassword, createRequestContext(world.at.clock, system), body)
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    expect((await initiate(world.at, 'robbed@company.test', system, newPassword)).sessionId).not.toBeNull()
  })

  test('auth.providerComplete 200: a person whom SCIM provisioned, by the stable id and never by the address', async () => {
    const id = await world.at.account('scim@company.test', system)
    const { database, ids } = world.at.ports
    const row = { portal: 'SYSTEM', accountBizId: id, providerId: 'company', issuer: world.provider.issuer } as const
    const now = toDate(world.at.clock.now())
    await database
      .insertInto('provider_identities')
      .values({
        ...{ ...row, bizId: ids.next<'identity'>(), subject: null, externalId: 'object-1', createdAt: now },
        ...{ linkedAt: null, lastSignInAt: null },
      })
      .execute()
    world.provider.person = personOf('scim@company.test', { oid: 'object-2' })
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    world.provider.person = personOf('renamed@company.test', { oid: 'object-1' })
    expect((await signedInCaller()).accountId).toBe(id)
    world.provider.person = personOf('thief@company.test', { oid: 'object-1' })
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
  })
})

describe('provisioning invited', () => {
  beforeAll(() => open({ provisioning: 'invited' }))
  afterAll(() => world.close())
  const invitation = { portal: 'SYSTEM', providerId: 'company', email: 'Guest@company.test' } as const
  const invite = ({ accountId: invitedBy }: Caller, to: { portal: 'SYSTEM'; providerId: string; email: string }) =>
    inTransaction(world.at.ports.database, (tx) =>
      world.at.identity.inviteToProvider(tx, { ...to, invitedBy }, world.at.clock.now()),
    )

  test('providers.invite 200: the first sign-in creates an account without permissions, once', async () => {
    const inviter = await localCaller('manager@company.test')
    world.provider.person = personOf('guest@company.test')
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    await invite(inviter, invitation)
    const caller = await signedInCaller()
    expect([...caller.permissions]).toEqual([])
    expect((await signedInCaller()).accountId).toBe(caller.accountId)
    world.provider.person = personOf('guest@company.test', {}, 'another person with the address')
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    const again = invite(inviter, invitation)
    expect(await codeOf(again)).toBe('STATE.CONFLICT')
  })

  test('auth.providerComplete 403: an invitation expires, and needs a verified address', async () => {
    const inviter = await localCaller('manager2@company.test')
    await invite(inviter, { ...invitation, email: 'late@company.test' })
    for (const verified of [false, undefined, 'true', 1]) {
      world.provider.person = personOf('late@company.test', { email_verified: verified })
      expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    }
    world.provider.person = personOf('late@company.test')
    const expiry = { expiresAt: toDate(world.at.clock.now()) }
    await world.at.ports.database.updateTable('provider_invitations').set(expiry).execute()
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
  })
})

describe('provisioning create with groups', () => {
  beforeAll(() =>
    open({
      groups: new Map([
        ['ops', ['auditor']],
        ['all', ['administrator']],
      ]),
    }),
  )
  afterAll(() => world.close())
  beforeEach(() => {
    rights = []
  })

  test('auth.providerComplete 200: groups become rights by the hook, and unknown or missing ones none', async () => {
    const mapped: [unknown, string[]][] = [
      [['ops'], ['audit:read']],
      [
        ['ops', 'all', 'nobody'],
        ['audit:read', 'ledger:read'],
      ],
      [['nobody'], []],
      [undefined, []],
      ['ops', ['audit:read']],
      [[{ toString: () => 'ops' }], []],
    ]
    let id: AccountId | undefined
    for (const [groups, to] of mapped) {
      world.provider.person = personOf('group@company.test', { groups })
      id = (await signedInCaller()).accountId
      expect(rights.at(-1)).toMatchObject({ accountId: id, to, reason: 'Groups at the identity provider company' })
    }
  })

  test('auth.providerComplete 401: a token that only refers to the groups revokes nothing', async () => {
    world.provider.tamper = (claims) => ({ ...claims, _claim_names: { groups: 'src1' } })
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_REFUSED')
    world.provider.tamper = null
    expect(rights).toEqual([])
  })

  test('providers.unlink: an operator loses the rights of groups, and needs a password first', async () => {
    world.provider.person = personOf('group@company.test', { groups: ['ops'] })
    const caller = await signedInCaller()
    const refused = invoke(contract.unlinkProvider, caller, { providerId: 'company' })
    expect(await codeOf(refused)).toBe('STATE.CONFLICT')
    await world.at.ports.database
      .updateTable('accounts')
      .set({ passwordHash: 'x' })
      .where('bizId', '=', caller.accountId)
      .execute()
    await invoke(contract.unlinkProvider, caller, { providerId: 'company' })
    expect(rights.at(-1)).toMatchObject({ accountId: caller.accountId, to: [] })
  })

  test('auth.providerComplete 401: the groups of the last operator who can manage operators name no role', async () => {
    world.provider.person = personOf('last@company.test', { groups: ['audit'] })
    await signedInCaller()
    const sessions = () => world.at.ports.database.selectFrom('sessions').select('bizId').execute()
    const before = await sessions()
    isLastManager = true
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_REFUSED')
    isLastManager = false
    expect(await sessions()).toEqual(before)
  })

  test('auth.providerComplete 401: a suspended account stays out', async () => {
    world.provider.person = personOf('suspended@company.test')
    const { accountId } = await signedInCaller()
    const accounts = world.at.ports.database.updateTable('accounts')
    await accounts.set({ accountStatus: 'SUSPENDED' }).where('bizId', '=', accountId).execute()
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_REFUSED')
  })
})

describe('a second factor that the provider does not vouch for', () => {
  beforeAll(() => open({ trustsMfa: ['hwk'], passwordSignIn: true }))
  afterAll(() => world.close())

  test('auth.providerComplete 200: the account’s factor follows, and the session belongs to the provider', async () => {
    const email = 'factor@company.test'
    world.provider.person = personOf(email)
    const { completed, pending } = await world.signIn()
    expect(completed).toBeNull()
    expect(pending?.mfaMethods.map(({ code }) => code)).toEqual(['EMAIL'])
    const body = { sessionId: pending?.sessionId, mfaMethod: 'EMAIL' }
    const context = createRequestContext(world.at.clock, system)
    await call(world.at.identity, sendLoginCode, context, body)
    const wrong = call(world.at.identity, completeLogin, context, { ...body, code: '000000' })
    expect(await codeOf(wrong)).toBe('AUTH.CODE_INVALID')
    const done = { ...body, code: mailedCode(world.at, email) }
    const { sessionId } = await call(world.at.identity, completeLogin, context, done)
    const rows = world.at.ports.database.selectFrom('sessions').select(['signedInBy', 'providerId', 'providerSid'])
    const [session] = await rows.where('bizId', '=', sessionId as never).execute()
    expect(session).toMatchObject({ signedInBy: 'EMAIL', providerId: 'company' })
  })

  test('auth.providerComplete 200: an accepted value of amr counts', async () => {
    world.provider.person = { ...personOf('factor@company.test'), amr: ['pwd', 'hwk'] }
    expect((await world.signIn()).pending).toBeNull()
  })
})

describe('accounts of consumers', () => {
  beforeAll(() =>
    open({ portal: 'CONSUMER', redirectUri: 'http://127.0.0.1:8080/identity-providers/system/company/callback' }),
  )
  afterAll(() => world.close())

  test('auth.providerComplete: approval, refused domains, and another portal', async () => {
    const { settings } = world.at
    settings.portals.CONSUMER.selfRegistration = 'approval'
    settings.portals.CONSUMER.refusedDomains = ['operators.test']
    world.provider.person = personOf('op@operators.test')
    expect(await codeOf(world.signIn())).toBe('AUTH.PROVIDER_NOT_LINKED')
    world.provider.person = personOf('pending@company.test')
    for (let times = 0; times < 2; times += 1) expect(await codeOf(world.signIn())).toBe('AUTH.PENDING_APPROVAL')
    expect(await accountsWith('pending@company.test')).toHaveLength(1)
    const started = await world.begin()
    expect(await codeOf(world.complete(started, system))).toBe('AUTH.SESSION_NOT_FOUND')
  })
})
