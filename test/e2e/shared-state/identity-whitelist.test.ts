import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { begin, type Client, client, data, newcomer, refusal, signInAs, toldOf } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { inMode, type PorticoInMode, sessionModes } from '../../harness/session-modes.ts'

const path = '/security/ip-whitelist'

describe('the IP whitelist', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  /** Other replicas apply a change within a second (docs/security.md). */
  const inForce = async (read: () => Promise<unknown>, wanted: unknown): Promise<void> => {
    if (inject('topology') === 'distributed') await expect.poll(read).toEqual(wanted)
    else expect(await read()).toEqual(wanted)
  }

  const replace = async (at: Awaited<ReturnType<typeof newcomer>>, addresses: string[]) =>
    at.by.post(path, { addresses }, at.token)

  describe.each(sessionModes)('by %s', (mode) => {
    let gateway: PorticoInMode
    beforeAll(() => {
      gateway = inMode(portico, mode)
    })

    test('ipWhitelist.enable 200 and ipWhitelist.disable 200: applies to requests, sign-ins and refreshes', async () => {
      const at = await newcomer(gateway)
      data(await replace(at, [`${at.by.ip}/32`]))
      expect([(await at.by.post(`${path}/enable`, undefined, at.token)).body.data]).toEqual([null])
      const away = client(gateway, { hash: at.by.hash })
      expect((await at.by.get('/profile', at.token)).status).toBe(200)
      await inForce(async () => refusal(await away.get('/profile', at.token)), [403, 'ACCESS.IP_NOT_ALLOWED'])
      const self = '/web/v1/users/self/security/sessions/config'
      await inForce(async () => refusal(await away.get(self, at.token)), [403, '4030'])
      if (mode === 'token') {
        const refresh = (by: Client) => by.post('/auth/token/refresh', { refreshToken: at.session.refreshToken })
        expect(refusal(await refresh(away))).toEqual([403, 'ACCESS.IP_NOT_ALLOWED'])
        expect((await refresh(at.by)).status).toBe(200)
      }
      const begun = await begin(gateway, away, at.email)
      const body = { sessionId: begun.sessionId, mfaMethod: 'EMAIL', code: begun.code }
      expect(refusal(await away.post('/auth/login/complete', body))).toEqual([403, 'ACCESS.IP_NOT_ALLOWED'])
      const read = data(await at.by.get(path, at.token))
      expect([read.enabled, read.entries[0].lastMatchedAt]).toEqual([true, expect.any(String)])
      const { items } = data(await at.by.get('/security/sessions/history', at.token))
      expect(items[0]).toMatchObject({ loginResult: 0, failureReason: 'IP_NOT_ALLOWED', clientIp: away.ip })
      expect((await at.by.post(`${path}/disable`, undefined, at.token)).body.data).toBeNull()
      await inForce(async () => (await away.get('/profile', at.token)).status, 200)
      for (const change of ['has been changed', 'only from the addresses on its list', 'from any address again'])
        await toldOf(gateway, at.email, change)
    })

    test("ipWhitelist.enable 200 and ipWhitelist.disable 200 apply immediately to the account's other sessions", async () => {
      const at = await newcomer(gateway)
      const away = client(gateway)
      const { accessToken } = await signInAs(gateway, away, at.email)
      const seen = async () => (await away.get('/profile', accessToken)).status
      expect(await seen()).toBe(200)
      data(await replace(at, [at.by.ip]))
      expect((await at.by.post(`${path}/enable`, undefined, at.token)).status).toBe(200)
      await inForce(seen, 403)
      expect((await at.by.post(`${path}/disable`, undefined, at.token)).status).toBe(200)
      await inForce(seen, 200)
    })

    test('409 STATE.CONFLICT for enabling or replacing by a set without the caller; force enables it', async () => {
      const at = await newcomer(gateway)
      expect(refusal(await at.by.post(`${path}/enable`, {}, at.token))).toEqual([409, 'STATE.CONFLICT'])
      data(await replace(at, ['192.0.2.0/24']))
      const refused = await at.by.post(`${path}/enable`, { force: false }, at.token)
      expect(refusal(refused)).toEqual([409, 'STATE.CONFLICT'])
      data(await replace(at, [at.by.ip]))
      data(
        await at.by
          .post(`${path}/enable`, undefined, at.token)
          .then((response) => ({ ...response, body: { data: 1 } })),
      )
      expect(refusal(await replace(at, ['192.0.2.0/24']))).toEqual([409, 'STATE.CONFLICT'])
      expect(refusal(await replace(at, []))).toEqual([409, 'STATE.CONFLICT'])
      expect((await replace(at, ['192.0.2.0/24', at.by.ip])).status).toBe(200)
      data(
        await at.by
          .post(`${path}/disable`, undefined, at.token)
          .then((response) => ({ ...response, body: { data: 1 } })),
      )
      data(await replace(at, ['192.0.2.0/24']))
      expect((await at.by.post(`${path}/enable`, { force: true }, at.token)).status).toBe(200)
      await inForce(async () => refusal(await at.by.get('/profile', at.token)), [403, 'ACCESS.IP_NOT_ALLOWED'])
    })
  })

  test('ipWhitelist.read 200 and ipWhitelist.replace 200: the stored set replaces the previous one', async () => {
    const at = await newcomer(portico)
    expect(data(await at.by.get(path, at.token))).toEqual({ enabled: false, entries: [] })
    data(await replace(at, ['203.0.113.0/24']))
    const set = data(await replace(at, ['198.51.100.7', '2001:db8::/32', '2001:db8:0:1::5']))
    expect(set.enabled).toBe(false)
    expect(set.entries).toEqual(
      [
        ['198.51.100.7', 4],
        ['2001:db8::/32', 6],
        ['2001:db8:0:1::5', 6],
      ].map(([address, ipVersion]) => ({
        bizId: expect.any(String),
        address,
        ipVersion,
        remark: null,
        createdAt: expect.any(String),
        lastMatchedAt: null,
      })),
    )
    expect(data(await at.by.get(path, at.token))).toEqual(set)
    expect(data(await replace(at, []))).toEqual({ enabled: false, entries: [] })
  })

  test.each([
    ['an IPv4 range of 33 bits', ['203.0.113.0/33']],
    ['an IPv6 range of 129 bits', ['2001:db8::/129']],
    ['a byte above 255', ['203.0.113.256']],
    ['a host name', ['example.com']],
    ['an address that parsers read differently', ['0x7f.1']],
    ['a duplicate range', ['10.0.0.0/8', '10.0.0.0/8']],
    ['a string instead of a list', '203.0.113.0/24'],
    ['null in the list', [null]],
    ['10,000 entries', Array.from({ length: 10_000 }, (_, each) => `10.0.${each >> 8}.${each & 255}`)],
  ])('ipWhitelist.replace 400 for %s', async (_, addresses) => {
    const at = await newcomer(portico)
    const response = await at.by.post(path, { addresses }, at.token)
    expect(refusal(response)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
  })

  test.each([
    ['::ffff:192.0.2.9', '192.0.2.9'],
    ['::ffff:192.0.2.0/120', '192.0.2.200'],
    ['192.0.2.0/24', '::ffff:192.0.2.77'],
    ['2001:db8:5::/48', '2001:DB8:5:1::9'],
    ['0.0.0.0/0', '203.0.113.99'],
  ])('%s contains %s', async (address, ip) => {
    const at = await newcomer(portico, client(portico, { ip }))
    data(await replace(at, [address]))
    expect((await at.by.post(`${path}/enable`, undefined, at.token)).status).toBe(200)
    expect((await at.by.get('/profile', at.token)).status).toBe(200)
    const other = client(portico, { hash: at.by.hash, ip: '2001:db8:6::1' })
    expect(refusal(await other.get('/profile', at.token))).toEqual([403, 'ACCESS.IP_NOT_ALLOWED'])
  })
})
