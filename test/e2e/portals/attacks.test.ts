import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fromOwnPage, openPage } from '../../harness/browser.ts'
import { requiredHeaders } from '../../harness/http.ts'
import {
  begin,
  client,
  data,
  goodPassword,
  linkToken,
  newEmail,
  otherPassword,
  refusal,
  register,
} from '../../harness/identity.ts'
import { merchantCode } from '../../harness/merchant-portal.ts'
import type { Portico } from '../../harness/portico.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { load } from '../../harness/site.ts'
import { enter, ofConsumer, ofMerchant, type Person, startWithMerchant } from './world.ts'

const invalidToken = [401, 'ACCESS.TOKEN_INVALID']
const noSession = [404, 'AUTH.SESSION_NOT_FOUND']
const self = '/web/v1/users/self/security/sessions/config'

/** A person with an account at both portals, with one address and one password. */
describe('what one portal gives is nothing at the other', () => {
  let portico: Portico
  let email: string
  let consumer: Person
  let merchant: Person
  let pairs: (readonly [own: Person, other: Person])[]
  beforeAll(async () => {
    portico = await startWithMerchant({
      adjust: ({ portals, limits }) => {
        limits.scale = 1
        portals.CONSUMER.limits = { groups: { login: { address: { limit: 40, windowMs: 3_600_000 } } } }
      },
    })
    email = newEmail()
    for (const chain of [ofConsumer, ofMerchant]) await register(portico, email, client(portico, { chain }))
    consumer = await enter(portico, ofConsumer, email)
    merchant = await enter(portico, ofMerchant, email)
    pairs = [
      [consumer, merchant],
      [merchant, consumer],
    ]
  })
  afterAll(() => portico?.stop())

  const at = ({ by }: Person) => by.chain
  /** The other portal, by the client and the address of the first. */
  const elsewhere = (own: Person, other: Person) =>
    client(portico, { chain: at(other), hash: own.by.hash, ip: own.by.ip })

  test('401: an access token, with each access code and each spelling of the path', async () => {
    const codes = ['consumer-dev', 'system-dev', merchantCode, null]
    for (const [own, other] of pairs)
      for (const code of codes) {
        const headers = { 'x-portal-access-code': code, 'x-workspace-id': other.workspace }
        for (const path of ['/profile', '/wallets', '/security/sessions', '/events', '/workspaces/mine']) {
          const { status, body } = await own.by.get(at(other) + path, own.token, headers)
          expect([path, code, status], body.code).toEqual([
            path,
            code,
            expect.toSatisfy((it) => it === 401 || it === 403),
          ])
        }
      }
    const segment = at(merchant).split('/').at(-1) ?? ''
    for (const spelled of [
      ...[`/web/v1/${segment.toUpperCase()}`, '/web/v1/%6Derchant', '/web/v1/merchant%2f..%2fconsumer'],
      ...['/web/v1//merchant', '/web/v1/merchant;a=1', '/web/v1/merchant%00'],
      ...['/web/v1/consumer/merchant', '/web/v1/users/merchant', '/WEB/v1/merchant', '/api/v1/merchant/'],
    ])
      for (const { token } of [consumer, merchant])
        expect([spelled, (await portico.call('GET', `${spelled}/profile`, { token })).status]).toEqual([spelled, 404])
  })

  test('self: a token is the account at its own portal, regardless of the access code and host of the request', async () => {
    for (const [own, other] of pairs)
      for (const code of ['consumer-dev', merchantCode]) {
        const headers = { 'x-portal-access-code': code, host: 'merchant.example' }
        data(await own.post('/security/sessions/config', { maxConcurrentSessions: 7 }))
        expect(data(await own.by.get(self, own.token, headers)).maxSessions).toBe(7)
        expect(data(await other.by.get(self, other.token, headers)).maxSessions).not.toBe(7)
        data(await own.post('/security/sessions/config', { maxConcurrentSessions: 5 }))
      }
  })

  test('401: a token on the machine chain of the other portal', async () => {
    for (const [own, other] of pairs) {
      const path = `${at(other).replace('/web/', '/api/')}/wallets`
      for (const workspace of [undefined, other.workspace]) {
        const call = { token: own.token, headers: { 'x-client-hash': own.by.hash }, ...(workspace && { workspace }) }
        expect(refusal(await portico.call('GET', path, call))).toEqual(invalidToken)
      }
    }
  })

  test('404 AUTH.SESSION_NOT_FOUND: a refresh token, and it still renews at its own portal', async () => {
    for (const [own, other] of pairs) {
      const { sessionId, code } = await begin(portico, own.by, email)
      const { refreshToken } = data(await own.by.post('/auth/login/complete', { sessionId, code, mfaMethod: 'EMAIL' }))
      expect(refusal(await elsewhere(own, other).post('/auth/token/refresh', { refreshToken }))).toEqual(noSession)
      expect((await own.by.post('/auth/token/refresh', { refreshToken })).status).toBe(200)
    }
  })

  test('404 AUTH.SESSION_NOT_FOUND: an attempt to sign in, and the code that was mailed for it', async () => {
    for (const [own, other] of pairs) {
      const ours = await begin(portico, own.by, email)
      const there = elsewhere(own, other)
      const completion = { ...ours, mfaMethod: 'EMAIL' }
      const { mfaMethods: _, ...body } = completion
      expect(refusal(await there.post('/auth/login/complete', body))).toEqual(noSession)
      expect(
        refusal(await there.post('/auth/login/mfa/send', { sessionId: ours.sessionId, mfaMethod: 'EMAIL' })),
      ).toEqual(noSession)
      const theirs = await begin(portico, there, email)
      if (theirs.code !== ours.code) {
        const mixed = { sessionId: theirs.sessionId, code: ours.code, mfaMethod: 'EMAIL' }
        expect(refusal(await there.post('/auth/login/complete', mixed))).toEqual([401, 'AUTH.CODE_INVALID'])
      }
      expect((await own.by.post('/auth/login/complete', body)).status).toBe(200)
    }
  })

  test('404 AUTH.SESSION_NOT_FOUND: a registration, and the token of its first password', async () => {
    for (const [own, other] of pairs) {
      const address = newEmail()
      const there = elsewhere(own, other)
      const { sessionId } = data(await own.by.post('/auth/register/initiate', { email: address, turnstileToken: '' }))
      const code = codeIn((await portico.mailTo(address, 'registration-code')).text)
      expect(refusal(await there.post('/auth/register/verify-email', { sessionId, code }))).toEqual(noSession)
      data(await own.by.post('/auth/register/verify-email', { sessionId, code }))
      const names = { sessionId, accountName: 'Nora Newcomer' }
      expect(refusal(await there.post('/auth/register/complete', names))).toEqual(noSession)
      const { passwordInitToken: token } = data(await own.by.post('/auth/register/complete', names))
      const password = { token, newPassword: goodPassword }
      expect(refusal(await there.post('/auth/password/init', password))).toEqual(noSession)
      data(await own.by.post('/auth/password/init', password))
      const login = { email: address, password: goodPassword }
      expect(refusal(await there.post('/auth/login/initiate', login))).toEqual([401, 'AUTH.INVALID_CREDENTIALS'])
    }
  })

  test('404 AUTH.SESSION_NOT_FOUND: a link to reset the password works only at its portal', async () => {
    const address = newEmail()
    const [first, second] = [client(portico, { chain: ofConsumer }), client(portico, { chain: ofMerchant })]
    for (const by of [first, second]) await register(portico, address, by)
    data(await first.post('/auth/password/forgot', { email: address, turnstileToken: '' }))
    const reset = {
      token: linkToken((await portico.mailTo(address, 'password-reset')).text),
      newPassword: otherPassword,
    }
    expect(refusal(await second.post('/auth/password/reset', reset))).toEqual(noSession)
    data(await first.post('/auth/password/reset', reset))
    const initiate = async (by: typeof first, password: string) =>
      (await by.post('/auth/login/initiate', { email: address, password })).status
    expect([await initiate(second, goodPassword), await initiate(second, otherPassword)]).toEqual([200, 401])
    expect([await initiate(first, otherPassword), await initiate(first, goodPassword)]).toEqual([200, 401])
  })

  test('a step-up, a lockout and the end of all sessions are of one portal', async () => {
    const address = newEmail()
    for (const chain of [ofConsumer, ofMerchant]) await register(portico, address, client(portico, { chain }))
    const [one, other] = [await enter(portico, ofConsumer, address), await enter(portico, ofMerchant, address)]
    const attacker = client(portico, { chain: ofMerchant })
    for (let tries = 0; tries < 30; tries++)
      await attacker.post('/auth/login/initiate', { email: address, password: 'wrong' })
    expect(
      (await client(portico).post('/auth/login/initiate', { email: address, password: goodPassword })).status,
    ).toBe(200)
    data(await other.post('/security/sessions/terminate-all'))
    expect((await one.get('/profile')).status).toBe(200)
    expect(refusal(await one.post('/security/sessions/terminate', { sessionId: merchant.accountId }))[0]).toBe(404)
  })

  test('API keys, roles, files, webhooks and wallets of the other portal are unknown', async () => {
    const made = async ({ get, post }: Person) => ({
      key: data(await post('/api-keys', { apiKeyName: 'Till', permissionCodes: ['wallet:read'] })),
      role: data(await post('/roles', { roleName: 'Till', permissionCodes: ['wallet:read'] })).bizId,
      hook: data(await post('/webhooks', { url: 'https://elsewhere.example/', eventTypes: ['*'] })).bizId,
      wallet: data(await get('/wallets'))[0].bizId,
    })
    for (const [own, other] of pairs) {
      const theirs = await made(other)
      const unknown = [404, 'RESOURCE.NOT_FOUND']
      for (const path of [
        ...[`/api-keys/${theirs.key.bizId}`, `/roles/${theirs.role}`, `/webhooks/${theirs.hook}/deliveries`],
        ...[`/wallets/${theirs.wallet}`, `/wallets/${theirs.wallet}/balance`],
      ])
        expect([path, ...refusal(await own.get(path))]).toEqual([path, ...unknown])
      expect(refusal(await own.post('/api-keys/delete', { apiKeyBizId: theirs.key.bizId }))).toEqual(unknown)
      expect(refusal(await own.post('/webhooks/delete', { webhookBizId: theirs.hook }))).toEqual(unknown)
      const key = { token: theirs.key.secret, headers: { 'x-portal-access-code': null } }
      const machine = (person: Person) => `${at(person).replace('/web/', '/api/')}/wallets`
      expect(refusal(await portico.call('GET', machine(own), key))).toEqual(invalidToken)
      expect((await portico.call('GET', machine(other), key)).status).toBe(200)
      for (const path of [`${at(own)}/wallets`, `${at(other)}/wallets`, self])
        expect((await portico.call('GET', path, { token: theirs.key.secret })).status).toBe(401)
    }
  })

  test('a cookie under the name of the other portal, on each chain, and as a ticket', async () => {
    const [ofOne, ofOther] = [await openPage(portico, 'owner@demo.test'), await openPage(portico, 'member@demo.test')]
    const renamed = ofOne.cookie.replace('consumer', 'merchant')
    const read = async (path: string, cookie: string) =>
      (await portico.call('GET', path, { headers: { ...fromOwnPage, cookie } })).status
    expect(await read(`${ofMerchant}/profile`, renamed)).toBe(401)
    expect(await read(`${ofMerchant}/profile`, `${ofOne.cookie}; ${renamed}`)).toBe(401)
    expect(await read(self, renamed)).toBe(401)
    expect(await read(self, ofOther.cookie)).toBe(200)
    expect(await read(`${ofMerchant}/events/stream?ticket=${'A'.repeat(43)}`, renamed)).toBe(401)
  })

  test('401: the Host header of the portal makes a token of the other one no better', async () => {
    const { status } = await load(portico.url, `${ofMerchant}/profile`, {
      ...requiredHeaders(merchantCode),
      ...{ host: 'merchant.example', authorization: `Bearer ${consumer.token}`, 'x-client-hash': consumer.by.hash },
    })
    expect(status).toBe(401)
  })

  test('limits of the group login are counted for each portal', async () => {
    const ip = '198.51.100.77'
    const [first, second] = [client(portico, { ip }), client(portico, { ip, chain: ofMerchant })]
    const attempt = (by: typeof first) => by.post('/auth/login/initiate', { email, password: 'wrong' })
    for (let tries = 0; tries < 40; tries++) await attempt(first)
    expect((await attempt(first)).status).toBe(429)
    expect((await attempt(second)).status).not.toBe(429)
  })
})
