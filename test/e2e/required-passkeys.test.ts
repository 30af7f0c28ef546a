import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { securesAccount } from '../../src/contract/policies.ts'
import { needsApiKey } from '../../src/kernel/index.ts'
import { needsAccount } from '../../src/testing/routes.ts'
import { SoftwareAuthenticator } from '../harness/authenticator.ts'
import { routes } from '../harness/catalogue.ts'
import { requiredHeaders } from '../harness/http.ts'
import { type Client, client, data, newcomer, newEmail, refusal, registerOnly } from '../harness/identity.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { readEvents } from './event-streams-world.ts'

/* `portals.CONSUMER.mfa.required`, over HTTP. */

const origin = 'http://localhost:8080'
const required = [403, 'ACCESS.PASSKEY_REQUIRED']
const held = [403, 'ACCESS.PAYOUT_HOLD']
const denied = [403, 'ACCESS.PERMISSION_DENIED']

type Newcomer = Awaited<ReturnType<typeof newcomer>>
type Session = Pick<Newcomer, 'by' | 'token'>

function start(passkey: 'all' | string[]): Promise<Portico> {
  return startPortico({
    adjust: ({ access, login, portals }) => {
      login.resendMs = 0
      access.payoutHoldMs = 3_600_000
      portals.CONSUMER.passkeys = {
        ...{ rpId: 'localhost', origins: [origin], userVerification: 'required', attestation: 'none' },
      }
      portals.CONSUMER.mfa.required = { passkey }
    },
  })
}

/** Registers the first passkey, and signs in with it. */
async function withPasskey({ by, token }: Newcomer) {
  const device = new SoftwareAuthenticator(origin)
  const created = device.create(data(await by.post('/security/passkeys/options', {}, token)))
  const { passkeyBizId } = data(await by.post('/security/passkeys', { credential: created }, token))
  return { ...(await enter({ by, device })), passkeyBizId }
}

async function enter({ by, device }: Pick<Newcomer, 'by'> & { device: SoftwareAuthenticator }) {
  const credential = device.get(data(await by.post('/auth/passkey/options')))
  const { accessToken } = data(await by.post('/auth/passkey/verify', { credential }))
  const session = { by, device, token: String(accessToken) }
  return { ...session, stepUp: () => stepUpByPasskey(session) }
}

async function stepUpByPasskey({ by, device, token }: Session & { device: SoftwareAuthenticator }): Promise<void> {
  const passkey = device.get(data(await by.post('/security/step-up/passkey', {}, token)))
  data(await by.post('/security/step-up', { mfaMethod: 'PASSKEY', passkey }, token))
}

/** A newcomer, whose requests name the workspace of the registration. */
async function owner(portico: Portico): Promise<Newcomer> {
  const person = await newcomer(portico)
  const [mine] = data(await person.by.get('/workspaces/mine', person.token))
  return { ...person, by: within(person.by, mine.workspaceBizId) }
}

function within(by: Client, workspace: string): Client {
  const header = { 'x-workspace-id': workspace }
  return {
    ...by,
    post: (path, body, token, headers) => by.post(path, body, token, { ...header, ...headers }),
    get: (path, token, headers) => by.get(path, token, { ...header, ...headers }),
  }
}

const createRole = ({ by, token }: Session, ...permissionCodes: string[]) =>
  by.post('/roles', { roleName: permissionCodes.join(), permissionCodes }, token)
const createKey = ({ by, token }: Session, ...permissionCodes: string[]) =>
  by.post('/api-keys', { apiKeyName: permissionCodes.join(), permissionCodes }, token)
const permissionsOf = async ({ by, token }: Session): Promise<string[]> =>
  data(await by.get('/security/self', token)).permissionCodes

describe('mfa.required.passkey of consumers, with permissions', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await start(['transfer:create', 'role:read', 'event:read'])
  })
  afterAll(() => portico?.stop())

  test('sessions.self 200: a session without a passkey shows the permissions that it has', async () => {
    const person = await owner(portico)
    const weak = await permissionsOf(person)
    const strong = await permissionsOf(await withPasskey(person))
    expect(strong.filter((code) => !weak.includes(code))).toEqual(['event:read', 'role:read', 'transfer:create'])
    expect(weak).toContain('wallet:read')
    expect(refusal(await person.by.get('/roles', person.token))).toEqual(required)
  })

  test('transfers.create, roles.create, apiKeys.create, webhooks.create 403: no way to the power', async () => {
    const person = await owner(portico)
    const { by, token } = person
    expect(refusal(await by.post('/transfer/command/create', {}, token))).toEqual(required)
    expect(refusal(await createRole(person, 'transfer:create'))).toEqual(required)
    expect(refusal(await createKey(person, 'transfer:create'))).toEqual(required)
    data(await createRole(person, 'wallet:read'))
    const webhook = { url: 'https://receiver.example/hook', description: '' }
    const subscribe = (eventTypes: string[]) => by.post('/webhooks', { ...webhook, eventTypes }, token)
    expect(refusal(await subscribe(['*']))).toEqual(required)
    expect(refusal(await subscribe(['role.created']))).toEqual(required)
  })

  test('apiKeys.enable 403: a key keeps its permissions, which no session without a passkey gives again', async () => {
    const person = await owner(portico)
    const strong = await withPasskey(person)
    await strong.stepUp()
    expect(refusal(await createKey(strong, 'transfer:create'))).toEqual(held)
    const { bizId: apiKeyBizId, secret } = data(await createKey(strong, 'event:read'))
    const use = () => portico.call('GET', '/api/v1/consumer/events', { token: secret })
    expect((await use()).status).toBe(200)
    data(await person.by.post('/api-keys/disable', { apiKeyBizId }, person.token))
    expect(refusal(await person.by.post('/api-keys/enable', { apiKeyBizId }, person.token))).toEqual(required)
    data(await strong.by.post('/api-keys/enable', { apiKeyBizId }, strong.token))
    expect((await use()).status).toBe(200)
  })

  test('mfa.stepUp 403: another factor than the passkey, once the account has one', async () => {
    const person = await owner(portico)
    const strong = await withPasskey(person)
    for (const { token } of [person, strong])
      expect(refusal(await person.by.post('/security/step-up/send', { mfaMethod: 'EMAIL' }, token))).toEqual(required)
  })

  test('roles.create 403 ACCESS.PAYOUT_HOLD: after a first passkey by mail, and not after one of the registration', async () => {
    const thief = await withPasskey(await owner(portico))
    await thief.stepUp()
    expect(refusal(await createRole(thief, 'transfer:create'))).toEqual(held)
    expect((await createRole(thief, 'role:read')).status).toBe(200)

    const by = client(portico)
    const { account } = await registerOnly(portico, newEmail(), by)
    const { passwordInitToken: token } = account
    const device = new SoftwareAuthenticator(origin)
    const credential = device.create(data(await by.post('/auth/register/passkey/options', { token })))
    data(await by.post('/auth/register/passkey', { token, credential }))
    const entered = await enter({ by, device })
    await entered.stepUp()
    const [mine] = data(await by.get('/workspaces/mine', entered.token))
    const founder = { ...entered, by: within(by, mine.workspaceBizId) }
    expect((await createRole(founder, 'transfer:create')).status).toBe(200)
  })

  test('auth.refresh 200: a renewed session lacks the same permissions', async () => {
    const { by, session } = await owner(portico)
    const { accessToken: token } = data(await by.post('/auth/token/refresh', { refreshToken: session.refreshToken }))
    expect(await permissionsOf({ by, token })).not.toContain('transfer:create')
  })

  test('events.stream: ends with the session when the passkey is deleted', async () => {
    const person = await owner(portico)
    const strong = await withPasskey(person)
    await strong.stepUp()
    const second = strong.device.create(data(await strong.by.post('/security/passkeys/options', {}, strong.token)))
    data(await strong.by.post('/security/passkeys', { credential: second }, strong.token))
    const other = await enter(strong)
    await other.stepUp()
    const [{ workspaceBizId: workspace }] = data(await strong.by.get('/workspaces/mine', strong.token))
    const headers = { 'x-client-hash': strong.by.hash, 'cf-connecting-ip': strong.by.ip }
    const { 'content-type': _, ...common } = requiredHeaders()
    const opened = await fetch(`${portico.url}/web/v1/consumer/events/stream`, {
      headers: { ...common, ...headers, authorization: `Bearer ${strong.token}`, 'x-workspace-id': workspace },
    })
    expect(opened.status).toBe(200)
    const stream = readEvents(opened)
    data(await other.by.post('/security/passkeys/delete', { passkeyBizId: strong.passkeyBizId }, other.token))
    await stream.ended
    expect(refusal(await strong.by.get('/roles', strong.token))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })

  test('roles.list 403 ACCESS.PERMISSION_DENIED: a member whose role lacks the permission needs no passkey', async () => {
    const founder = await owner(portico)
    const role = data(await createRole(founder, 'wallet:read'))
    const { by, email, token } = await newcomer(portico)
    const [mine] = data(await founder.by.get('/workspaces/mine', founder.token))
    const invited = { email, roleBizId: role.bizId }
    const { bizId: invitationBizId } = data(await founder.by.post('/invitations', invited, founder.token))
    data(await by.post('/profile/invitations/accept', { invitationBizId }, token))
    const guest = within(by, mine.workspaceBizId)
    expect(refusal(await guest.get('/roles', token))).toEqual(denied)
    expect((await guest.get('/wallets', token)).status).toBe(200)
  })
})

describe('mfa.required.passkey of consumers: all', () => {
  let portico: Portico
  let person: Newcomer
  let strong: Session
  beforeAll(async () => {
    portico = await start('all')
    const newest = await newcomer(portico)
    const entered = await withPasskey(newest)
    const [mine] = data(await entered.by.get('/workspaces/mine', entered.token))
    const by = within(newest.by, mine.workspaceBizId)
    person = { ...newest, by }
    strong = { ...entered, by }
  })
  afterAll(() => portico?.stop())

  const reached = routes.filter(
    (route) =>
      needsAccount(route) &&
      route.chain.perimeter !== 'machine' &&
      route.chainId !== 'system' &&
      !needsApiKey(route.chain) &&
      route.operation.reply !== 'socket',
  )
  /** A body that is not valid: permissions precede it. */
  const send = ({ by, token }: Session, { method, path }: (typeof reached)[number]) =>
    method === 'GET' ? by.get(path, token) : by.post(path, { unknown: true }, token)

  test.each(reached.filter(({ operation }) => !securesAccount(operation)))(
    '$name 403 ACCESS.PASSKEY_REQUIRED: without a passkey',
    async (route) => {
      expect(refusal(await send(person, route))).toEqual(required)
    },
  )

  test.each(reached.filter(({ operation, method }) => securesAccount(operation) && method === 'GET'))(
    '$name: a person without a passkey secures the account',
    async (route) => {
      const { status, body } = await send(person, route)
      expect([status, body.code]).not.toEqual(required)
    },
  )

  test.each(reached.filter(({ operation }) => !securesAccount(operation) && operation.reply !== 'events'))(
    '$name: not refused with a passkey',
    async (route) => {
      const response = await send(strong, route)
      expect([response.status, response.body?.code]).not.toEqual(required)
    },
  )

  test('auth.logout 200: a person without a passkey signs out', async () => {
    const { by, token } = await newcomer(portico)
    expect((await by.post('/auth/logout', undefined, token)).status).toBe(200)
  })
})
