import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../../harness/http.ts'
import { type Client, client, data, refusal } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signInOnly } from '../../harness/sign-in.ts'

const hour = 3_600_000
const limited = [429, 'ACCESS.RATE_LIMITED']
const system = '/web/v1/system'

describe('limits of one portal', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.limits.scale = 1
        settings.access.invitations.maxPerDayToAddress = 1
        settings.portals.SYSTEM.limits = {
          address: { limit: 40, windowMs: hour },
          groups: {
            login: { address: { limit: 3, windowMs: hour } },
            forgot: { account: { limit: 1, windowMs: hour } },
            general: { account: { limit: 2, windowMs: hour } },
          },
        }
      },
    })
  })
  afterAll(() => portico?.stop())

  const times = async (count: number, request: () => Promise<unknown>): Promise<void> => {
    for (let each = 0; each < count; each++) await request()
  }

  test('auth.loginInitiate 429 for the 4th request of an address at SYSTEM only, not at CONSUMER', async () => {
    const at = client(portico)
    const initiate = (chain: string) =>
      at.post(`${chain}/auth/login/initiate`, { email: 'a@b.test', password: 'wrong' })
    await times(3, async () => expect((await initiate(system)).status).toBe(401))
    expect(refusal(await initiate(system))).toEqual(limited)
    expect((await initiate('/web/v1/consumer')).status).toBe(401)
  })

  test('auth.loginInitiate 429 reports the limit that refused, even if the address limit is used up, too', async () => {
    const at = client(portico)
    const initiate = () => at.post(`${system}/auth/login/initiate`, { email: 'a@b.test', password: 'wrong' })
    await times(3, initiate)
    await times(36, () => at.get(`${system}/secure-channel/public-key`))
    const response = await initiate()
    expect(refusal(response)).toEqual(limited)
    expect(response.headers.get('ratelimit')).toBe(`"login-address";r=0;t=${response.headers.get('retry-after')}`)
  })

  test('auth.loginInitiate 429 for the 4th request of an IPv6 /56; its neighbor continues', async () => {
    const at = client(portico)
    const from = async (address: string) => {
      const body = { email: 'nobody@b.test', password: 'wrong' }
      const headers = { 'cf-connecting-ip': address }
      return (await at.post(`${system}/auth/login/initiate`, body, undefined, headers)).status
    }
    for (const host of ['100::1', '17f:a:b:c:d', '1ff:ffff::']) expect(await from(`2001:db8:0:${host}`)).toBe(401)
    expect(await from('2001:db8:0:180::2')).toBe(429)
    expect(await from('2001:db8:0:200::2')).toBe(401)
  })

  test('auth.loginInitiate 401: the window at CONSUMER ends after a minute, independent of SYSTEM', async () => {
    const at = client(portico)
    const body = { email: 'a@b.test', password: 'wrong' }
    const endOf = async (chain: string): Promise<number> => {
      const { headers } = await at.post(`${chain}/auth/login/initiate`, body)
      return Number(/"login-address".*;t=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1])
    }
    expect(await endOf(system)).toBeGreaterThan(60)
    expect(await endOf('/web/v1/consumer')).toBeLessThanOrEqual(60)
  })

  test('auth.mfaSend 429 for a second code reports the required pause', async () => {
    const at = client(portico)
    const { sessionId } = data(
      await at.post('/auth/login/initiate', { email: 'owner@demo.test', password: 'Portico-demo-2026' }),
    )
    const send = () => at.post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    data(await send())
    const response = await send()
    expect(refusal(response)).toEqual(limited)
    expect(response.headers.get('ratelimit')).toMatch(/^"code-resend";r=0;t=(30|2\d)$/)
    expect(response.headers.get('ratelimit-policy')).toBe('"code-resend";q=1;w=30')
  })

  test('mfa.stepUpSend 429 for a second code does not count towards the mail limit of the account', async () => {
    const { accessToken: token } = await signInOnly(portico, 'member@demo.test')
    const send = () =>
      portico.call('POST', '/web/v1/consumer/security/step-up/send', { token, body: { mfaMethod: 'EMAIL' } })
    data(await send())
    await times(6, async () => {
      const response = await send()
      expect(refusal(response)).toEqual(limited)
      expect(response.headers.get('ratelimit-policy')).toBe('"code-resend";q=1;w=30')
    })
  })

  test('auth.loginInitiate 429 after ten wrong passwords reports the failure limit, not that of the address', async () => {
    const fail = () => client(portico).post('/auth/login/initiate', { email: 'failing@demo.test', password: 'wrong' })
    await times(10, async () => expect((await fail()).status).toBe(401))
    const response = await fail()
    expect(refusal(response)).toEqual(limited)
    expect(response.headers.get('ratelimit')).toMatch(/^"failures";r=0;t=\d+$/)
    expect(response.headers.get('ratelimit')).toMatch(new RegExp(`t=${response.headers.get('retry-after')}$`))
    expect(response.headers.get('ratelimit-policy')).toBe('"failures";q=10;w=900')
  })

  test('password.forgot 429 reports the limit of mails per address', async () => {
    const forgot = () =>
      client(portico, { chain: system }).post(`${system}/auth/password/forgot`, {
        email: 'c@b.test',
        turnstileToken: '',
      })
    data(await forgot())
    const response = await forgot()
    expect(refusal(response)).toEqual(limited)
    expect(response.headers.get('ratelimit')).toMatch(/^"forgot-mails";r=0;t=\d+$/)
    expect(response.headers.get('ratelimit-policy')).toBe('"forgot-mails";q=1;w=3600')
  })

  test('invitations.create 429 reports the limit of invitations per address, across workspaces', async () => {
    const { accessToken: token } = await signInOnly(portico, 'owner@demo.test')
    const consumer = '/web/v1/consumer'
    const roleOf = await portico.call('POST', `${consumer}/roles`, {
      token,
      body: { roleName: 'Guest', permissionCodes: [] },
    })
    const { bizId: roleBizId } = data(roleOf)
    const body = { email: 'guest@demo.test', roleBizId }
    data(await portico.call('POST', `${consumer}/invitations`, { token, body }))
    const response = await portico.call('POST', `${consumer}/invitations`, { token, body })
    expect(refusal(response)).toEqual(limited)
    expect(response.headers.get('ratelimit-policy')).toBe('"invitations-to-address";q=1;w=86400')
    expect(response.headers.get('ratelimit')).toBe(
      `"invitations-to-address";r=0;t=${response.headers.get('retry-after')}`,
    )
  })

  test('password.forgot 429 for the second mail to an address at SYSTEM, for the sixth at CONSUMER', async () => {
    const forgot = (by: Client) =>
      by.post(`${by.chain}/auth/password/forgot`, { email: 'b@b.test', turnstileToken: '' })
    data(await forgot(client(portico, { chain: system })))
    expect(refusal(await forgot(client(portico, { chain: system })))).toEqual(limited)
    await times(5, async () => data(await forgot(client(portico))))
    expect(refusal(await forgot(client(portico)))).toEqual(limited)
  })

  test("429 for the third request of an operator's account, with RateLimit headers", async () => {
    const { accessToken: token } = await signInOnly(portico, 'operator@demo.test')
    const profile = () => portico.call('GET', `${system}/profile`, { token })
    const first = await profile()
    expect([first.status, first.headers.get('ratelimit-policy')]).toEqual([200, expect.stringContaining('q=2')])
    expect((await profile()).status).toBe(200)
    expect(refusal(await profile())).toEqual(limited)
  })

  const publicKey = `${system}/secure-channel/public-key`

  test.each<[string, [number, string], (at: Client) => Promise<Answer>]>([
    ['an unknown route', [404, 'ROUTE.NOT_FOUND'], (at) => at.get(`${system}/none`)],
    ['an unknown method', [405, 'ROUTE.METHOD_NOT_ALLOWED'], (at) => at.post(publicKey, {})],
    [
      'a wrong access code',
      [403, 'ACCESS.PORTAL_MISMATCH'],
      (at) => at.get(publicKey, undefined, { 'x-portal-access-code': 'guess' }),
    ],
  ])('429 ACCESS.RATE_LIMITED: %s spends the limit of its address only', async (_name, refused, request) => {
    const at = client(portico)
    await times(40, async () => expect(refusal(await request(at))).toEqual(refused))
    const limitedAnswer = await request(at)
    expect(refusal(limitedAnswer)).toEqual(limited)
    expect(limitedAnswer.headers.get('ratelimit')).toBe(`"address";r=0;t=${limitedAnswer.headers.get('retry-after')}`)
    expect(refusal(await at.get(publicKey))).toEqual(limited)
    expect((await client(portico).get(publicKey)).status).toBe(200)
  })

  test('429 per address at SYSTEM: addresses are counted separately', async () => {
    const at = client(portico)
    const open = (chain: string) => at.get(`${chain}/secure-channel/public-key`)
    await times(40, () => open(system))
    expect(refusal(await open(system))).toEqual(limited)
    expect((await open('/web/v1/consumer')).status).toBe(200)
  })
  test.each<[string, number, (at: Client) => Promise<Answer>]>([
    ['a wrong token', 401, (at) => at.get(`${system}/profile`, 'wrong')],
    ['a wrong access code', 403, (at) => at.get(`${system}/profile`, undefined, { 'x-portal-access-code': 'wrong' })],
    ['a malformed header', 400, (at) => at.get(`${system}/profile`, undefined, { 'x-client-hash': ' ' })],
    ['an unknown path', 404, (at) => at.get(`${system}/none`)],
  ])(
    '%s %i counts towards the address across replicas: 40 of 60 in parallel, then 429',
    async (_name, status, send) => {
      const at = client(portico)
      const statuses = (await Promise.all(Array.from({ length: 60 }, () => send(at)))).map((each) => each.status)
      expect(statuses.filter((each) => each === status)).toHaveLength(40)
      expect(statuses.filter((each) => each === 429)).toHaveLength(20)
      const { headers } = await send(at)
      expect(headers.get('ratelimit')).toBe(`"address";r=0;t=${headers.get('retry-after')}`)
    },
  )
})
