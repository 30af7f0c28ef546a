import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

/** Each chain requires the edge headers of its own portal. */
describe('the edges of two portals', () => {
  let portico: Portico
  let operator: Session
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.edge = { kind: 'direct', trustedProxies: [] }
        portals.SYSTEM.edge = { kind: 'cloudflare', trustedProxies: ['127.0.0.0/8'] }
      },
    })
    operator = await signIn(portico, 'operator@demo.test')
  })
  afterAll(() => portico?.stop())

  const edgeHeaders = ['x-forwarded-proto', 'cf-connecting-ip', 'cf-ray', 'cf-ipcountry']
  const publicKey = (code: string, without: string[] = []) =>
    portico.call('GET', '/web/v1/secure-channel/public-key', {
      headers: { 'x-portal-access-code': code, ...Object.fromEntries(without.map((name) => [name, null])) },
    })

  test("secureChannel.publicKey 200 without a portal segment: the edge of the access code's portal applies", async () => {
    expect((await publicKey('system-dev')).status).toBe(200)
    expect((await publicKey('consumer-dev', edgeHeaders.slice(1))).status).toBe(200)
  })

  test.each(edgeHeaders)('secureChannel.publicKey 400 for SYSTEM without %s', async (name) => {
    expect((await publicKey('system-dev', [name])).body.code).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test("users/self 200 or 403: the address is resolved by the edge of the token's portal", async () => {
    const { accessToken: token } = operator
    const path = '/web/v1/system/security/ip-whitelist'
    expect((await portico.call('POST', path, { token, body: { addresses: ['203.0.113.7'] } })).status).toBe(200)
    expect((await portico.call('POST', `${path}/enable`, { token })).status).toBe(200)
    const read = async (ip: string) => {
      const headers = { 'cf-connecting-ip': ip }
      return (await portico.call('GET', '/web/v1/users/self/security/sessions/config', { token, headers })).status
    }
    expect([await read('203.0.113.7'), await read('198.51.100.1')]).toEqual([200, 403])
  })
})

describe('a peer that is not a trusted proxy', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.edge = { kind: 'cloudflare', trustedProxies: ['10.0.0.0/8'] }
      },
    })
  })
  afterAll(() => portico?.stop())

  test('secureChannel.publicKey 400: its edge headers count as absent', async () => {
    const { status, body } = await portico.call('GET', '/web/v1/consumer/secure-channel/public-key')
    expect([status, body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(body.message).toContain('x-forwarded-proto')
  })
})
