import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { codeIn, signIn } from '../harness/sign-in.ts'
import { KeycloakBrowser } from './browser.ts'
import { partners, social } from './connections.ts'
import { addSigningKey, issuerOf, leaveGroup } from './realm.ts'
import { consumer, startWorld, system, type World } from './world.ts'

const approvers = '/treasury/approvers'
const complete = `${system}/auth/provider/complete`
const initiate = `${system}/auth/provider/initiate`

describe('sign-ins at Keycloak', needs(inject('keycloak'), 'Keycloak or Java is not installed'), () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({
      realm: 'company',
      people: [
        { username: 'alice', groups: [approvers] },
        { username: 'bob' },
        { username: 'carol' },
        { username: 'dave' },
        { username: 'mallory', emailVerified: false },
      ],
      connections: (guide) => [partners(guide), social(guide)],
    })
  })
  afterAll(() => world?.portico.stop())

  const selfOf = async (token: string) =>
    (await world.portico.call('GET', `${system}/security/self`, { token })).body.data

  test('auth.providerComplete 200: a pushed request of a signed client, with iss and the level of the client', async () => {
    const browser = new KeycloakBrowser()
    const visited = await world.visit(initiate, { username: 'bob', browser })
    expect([...visited.authorizationUrl.searchParams.keys()].sort()).toEqual(['client_id', 'request_uri'])
    expect(browser.forms).toEqual(['username password', 'otp'])
    expect(visited.callback.searchParams.get('iss')).toBe(issuerOf('company'))
    expect(visited.page.pathname).toBe('/sign-in/provider')
    const completed = await world.post(complete, visited.reply)
    expect([completed.status, completed.body.data.pending], completed.text).toEqual([200, null])
    const again = await world.post(complete, visited.reply)
    expect([again.status, again.body.code]).toEqual([404, 'AUTH.SESSION_NOT_FOUND'])
  })

  test('auth.providerComplete 401: another iss, the code of another sign-in, and a code that was used', async () => {
    const begin = async () => (await world.visit(initiate, { username: 'bob' })).reply
    const refusal = async (reply: object) => {
      const { status, body } = await world.post(complete, reply)
      return [status, body.code]
    }
    const refused = [401, 'AUTH.PROVIDER_REFUSED']
    expect(await refusal({ ...(await begin()), iss: issuerOf('partners') })).toEqual(refused)
    const { iss: _, ...withoutIss } = await begin()
    expect(await refusal(withoutIss)).toEqual(refused)
    const [own, injected] = [await begin(), await begin()]
    expect(await refusal({ ...own, code: injected.code })).toEqual(refused)
    // PKCE has spent the code at Keycloak.
    expect(await refusal(injected)).toEqual(refused)
  })

  test('auth.providerComplete 403: an address that Keycloak has not verified', async () => {
    const { status, body } = await world.signIn(system, { username: 'mallory' })
    expect([status, body.code]).toEqual([403, 'AUTH.PROVIDER_NOT_LINKED'])
  })

  test('auth.providerComplete 200: groups propose roles, and permissions end with the group', async () => {
    const token = await world.tokenOf(system, { username: 'alice' })
    const { accountBizId, permissionCodes } = await selfOf(token)
    expect(permissionCodes).toEqual([])
    const { accessToken: checker } = await signIn(world.portico, 'checker@demo.test')
    const pending = `${system}/proposals?proposalStatus=PENDING`
    const { items } = (await world.portico.call('GET', pending, { token: checker })).body.data
    const proposal = items.find((each: { subjectBizId: string }) => each.subjectBizId === accountBizId)
    expect(proposal).toMatchObject({ proposedBy: null, reason: 'Groups at the identity provider keycloak' })
    expect((await world.post(`${system}/proposals/${proposal.bizId}/confirm`, undefined, checker)).status).toBe(200)
    await expect.poll(async () => (await selfOf(token)).permissionCodes).not.toEqual([])
    expect((await selfOf(await world.tokenOf(system, { username: 'alice' }))).permissionCodes).not.toEqual([])

    await leaveGroup('company', 'alice', approvers)
    const later = await world.tokenOf(system, { username: 'alice' })
    expect((await selfOf(later)).permissionCodes).toEqual([])
    expect((await selfOf(token)).permissionCodes).toEqual([])
  })

  test('auth.providerComplete 200: a password at Keycloak is one factor, and a secret can have any characters', async () => {
    const browser = new KeycloakBrowser()
    const { body, text } = await world.signIn(consumer, { username: 'carol', browser })
    expect(browser.forms).toEqual(['username password'])
    expect(body.data?.completed, text).toBeNull()
    const { sessionId } = body.data.pending
    await world.post(`${consumer}/auth/login/mfa/send`, { sessionId, mfaMethod: 'EMAIL' })
    const code = codeIn((await world.portico.mailTo('carol@company.test', 'login-code')).text)
    const completed = await world.post(`${consumer}/auth/login/complete`, { sessionId, mfaMethod: 'EMAIL', code })
    expect(completed.status, completed.text).toBe(200)
  })

  test('auth.providerComplete 403 and 200: an account needs an invitation, and amr counts as two factors', async () => {
    const bob = { username: 'bob', providerId: 'partners' }
    const refusal = async () => (await world.signIn(system, bob)).body.code
    expect(await refusal()).toBe('AUTH.PROVIDER_NOT_LINKED')
    const { accessToken: checker } = await signIn(world.portico, 'checker@demo.test')
    const invite = (email: string) => {
      const body = { accountPortal: 'SYSTEM', providerId: 'partners', email }
      return world.post(`${system}/identity-providers/invitations`, body, checker)
    }
    // The account of the other realm has the address. No address links it.
    expect((await invite('bob@company.test')).body.code).toBe('STATE.CONFLICT')
    expect(await refusal()).toBe('AUTH.PROVIDER_NOT_LINKED')
    expect((await invite('carol@company.test')).status).toBe(200)
    expect(await world.tokenOf(system, { ...bob, username: 'carol' })).toEqual(expect.any(String))
  })

  test('providers.link 200: the owner links an account, and signs in with it', async () => {
    const { accessToken: token } = await signIn(world.portico, 'operator@demo.test')
    const visit = { username: 'alice', providerId: 'partners' }
    const { reply } = await world.visit(`${system}/security/providers/link/initiate`, { ...visit, token })
    const linked = await world.post(`${system}/security/providers/link`, reply, token)
    expect([linked.status, linked.body.data?.providerId], linked.text).toEqual([200, 'partners'])
    const { accountBizId } = await selfOf(await world.tokenOf(system, visit))
    expect(accountBizId).toBe((await selfOf(token)).accountBizId)
  })

  test('providers.stepUp 200: Keycloak asks for both factors again; 401 for another person', async () => {
    const browser = new KeycloakBrowser()
    const token = await world.tokenOf(system, { username: 'bob', browser })
    const start = `${system}/security/step-up/provider/initiate`
    const stepUp = (reply: object) => world.post(`${system}/security/step-up/provider`, reply, token)
    // To Keycloak, a sign-in within the same second is fresh.
    const second = epochSeconds()
    await expect.poll(epochSeconds).toBeGreaterThan(second)
    browser.forms.length = 0
    const { reply } = await world.visit(start, { username: 'bob', browser, token })
    expect(browser.forms).toEqual(['password', 'otp'])
    const other = await world.visit(start, { username: 'carol', token })
    expect((await selfOf(token)).steppedUpUntil).toBeNull()
    const refused = await stepUp(other.reply)
    expect([refused.status, refused.body.code]).toEqual([401, 'AUTH.PROVIDER_REFUSED'])
    expect((await selfOf(token)).steppedUpUntil).toBeNull()
    expect((await stepUp(reply)).status).toBe(200)
    expect((await selfOf(token)).steppedUpUntil).not.toBeNull()
  })

  test('auth.providerComplete 200: no sign-in fails when Keycloak changes its key', async () => {
    const before = await world.visit(initiate, { username: 'bob' })
    const kid = await addSigningKey('company')
    const signedIn = await Promise.all([
      world.post(complete, before.reply),
      ...['bob', 'dave'].map((username) => world.signIn(system, { username })),
    ])
    expect(signedIn.map(({ status }) => status)).toEqual([200, 200, 200])
    const { accessToken: token } = signedIn[0]?.body.data.completed ?? expect.unreachable()
    const { body } = await world.post(`${system}/security/providers/logout`, undefined, token)
    const hint = new URL(body.data.endSessionUrl).searchParams.get('id_token_hint') ?? ''
    expect(decodeProtectedHeader(hint).kid).toBe(kid)
  })
})

function epochSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}
