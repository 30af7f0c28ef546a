import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { requiredHeaders } from '../../harness/http.ts'
import { client, data, newcomer } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'
import { type EventReader, readEvents } from '../event-streams-world.ts'

const machinePath = '/api/v1/consumer/events/stream'
const webPath = '/web/v1/consumer/events/stream'
const { 'content-type': _, ...required } = requiredHeaders()

describe('access to streams of events', needsStore(), () => {
  let portico: Portico
  let at: Awaited<ReturnType<typeof newcomer>>
  let workspace: string
  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())
  beforeEach(async () => {
    at = await newcomer(portico)
    workspace = data(await at.by.get('/workspaces/current', at.token)).bizId
  })

  const post = (path: string, body: object) => at.by.post(path, body, at.token, { 'x-workspace-id': workspace })
  const create = async (more: object = {}) =>
    data(await post('/api-keys', { apiKeyName: 'Reader', permissionCodes: ['event:read', 'role:read'], ...more }))
  const open = (secret: string, { path = machinePath, ip = at.by.ip, method = 'GET', replica = 0, lastId = '' } = {}) =>
    fetch(`${portico.urls[replica % portico.urls.length]}${path}`, {
      method,
      headers: {
        ...required,
        'x-client-hash': at.by.hash,
        'cf-connecting-ip': ip,
        authorization: `Bearer ${secret}`,
        ...(path.startsWith(webPath) && { 'x-workspace-id': workspace }),
        ...(lastId !== '' && { 'last-event-id': lastId }),
      },
    })
  const watch = async (...args: Parameters<typeof open>): Promise<EventReader> => {
    const response = await open(...args)
    expect(response.status).toBe(200)
    const stream = readEvents(response)
    await expect.poll(stream.lastId).not.toBe('')
    return stream
  }
  /** The gateway ends the stream within a second. The rest is for a busy machine. */
  const expectEnd = async (stream: EventReader, why: string) => {
    const begun = performance.now()
    await stream.ended
    expect(performance.now() - begun, why).toBeLessThan(3_000)
  }
  const codeOf = async (response: Response) => [response.status, (await response.json()).code]
  const addRole = () => post('/roles', { roleName: 'Clerk', permissionCodes: ['wallet:read'] })

  test('events.stream 200: an API key follows the types of its permissions, on every replica', async () => {
    const { secret } = await create()
    const streams = [await watch(secret), await watch(secret, { replica: 1 })]
    expect((await addRole()).status).toBe(200)
    await create({ apiKeyName: 'Unread' })
    for (const stream of streams) {
      await expect.poll(() => stream.events.map(({ type }) => type)).toEqual(['role.created'])
      await stream.cancel()
    }
    expect(await codeOf(await open(secret, { path: `${machinePath}?type=api_key.active` }))).toEqual([
      403,
      'ACCESS.PERMISSION_DENIED',
    ])
    const without = await create({ apiKeyName: 'No events', permissionCodes: ['role:read'] })
    expect(await codeOf(await open(without.secret))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
  })

  test('events.stream: ends with the API key', async () => {
    const { secret, bizId } = await create()
    const streams = [await watch(secret), await watch(secret, { replica: 1 })]
    data(await post('/api-keys/disable', { apiKeyBizId: bizId }).then((r) => ({ ...r, body: { data: r.status } })))
    for (const stream of streams) await expectEnd(stream, 'disabled')
    expect(await codeOf(await open(secret))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
  })

  test('events.stream: the whitelist of the creator, and the list of the key, apply at the start and later', async () => {
    const away = client(portico).ip
    const bound = await create({ ipAllowlist: ['192.0.2.0/24'], apiKeyName: 'Bound' })
    expect(await codeOf(await open(bound.secret))).toEqual([403, 'ACCESS.IP_NOT_ALLOWED'])
    const { secret } = await create()
    const [far, near, ofBound] = [
      await watch(secret, { ip: away }),
      await watch(secret),
      await watch(bound.secret, { ip: '192.0.2.8' }),
    ]
    const web = await watch(at.token, { path: webPath, ip: away })
    data(await post('/security/ip-whitelist', { addresses: [at.by.ip] }))
    expect((await post('/security/ip-whitelist/enable', {})).status).toBe(200)
    await expectEnd(far, 'an API key')
    await expectEnd(web, 'a session')
    expect(await codeOf(await open(secret, { ip: away }))).toEqual([403, 'ACCESS.IP_NOT_ALLOWED'])
    // The streams from addresses on a list stay.
    expect((await addRole()).status).toBe(200)
    for (const stream of [near, ofBound]) {
      await expect.poll(() => stream.events.map(({ type }) => type)).toEqual(['role.created'])
      await stream.cancel()
    }
  })

  test('events.stream: ends when the account is suspended, and a frozen workspace has one event', async () => {
    const { accessToken: token } = await signIn(portico, 'operator@demo.test')
    const system = async (path: string) =>
      data(await portico.call('POST', `/web/v1/system${path}`, { token, body: { reason: 'a test of streams' } }))
    const { secret } = await create({ permissionCodes: ['event:read', 'workspace:read'] })
    const streams = [await watch(secret), await watch(at.token, { path: webPath })]
    await system(`/workspaces/${workspace}/freeze`)
    // The member can also get the event of the key, which has no position yet when the stream opens.
    for (const { events } of streams) {
      const types = () => events.map(({ type }) => type).filter((type) => type.startsWith('workspace.'))
      await expect.poll(types).toEqual(['workspace.frozen'])
    }
    await system(`/accounts/${at.accountId}/suspend`)
    for (const stream of streams) await expectEnd(stream, 'suspended')
  })

  test('events.stream 200 to HEAD: has no body, and leaves no open stream', async () => {
    const { secret } = await create()
    const head = await open(secret, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const metrics = async () => (await fetch(`${portico.operationsUrl}/metrics`)).text()
    await expect.poll(metrics).not.toMatch(/^portico_open_streams\{[^}]*events\.stream"[^}]*\} [1-9]/m)
  })

  test('events.stream 400 and 410: Last-Event-ID of another feed, in other notations, or behind the newest', async () => {
    const { secret } = await create()
    for (const lastId of ['-1', '+1', '1e3', '0x1', '1.0', '9'.repeat(15), '9'.repeat(400), 'null', '1,2'])
      expect(await codeOf(await open(secret, { lastId })), lastId).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
  })
})
