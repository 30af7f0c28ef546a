import { once } from 'node:events'
import { connect } from 'node:net'
import { WebSocket as UndiciWebSocket } from 'undici'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { credentialProtocol } from '../../../src/contract/header-values.ts'
import { signIn } from '../../harness/sign-in.ts'
import { acceptOf, frameOf } from '../../harness/socket-service.ts'
import { key, path, type SocketsWorld, startSocketsWorld, workspace } from '../sockets-world.ts'

const maxPerAccount = 3
let world: SocketsWorld
beforeAll(async () => {
  world = await startSocketsWorld({ maxPerAccount }, ['https://portal.example'])
})
afterEach(() => world.reset())
afterAll(() => world?.stop())

describe('ticker.follow 101', () => {
  test('relays messages in both directions, with one assertion and no credential for the service', async () => {
    const connection = await world.open(`${path}?symbol=EUR`, { 'x-request-id': 'relayed' })
    const head = await connection.head
    expect(head).toContain(`Sec-WebSocket-Accept: ${acceptOf(key)}`)
    expect(head).toContain('X-Request-Id: relayed')
    expect(head).not.toContain('leak')
    connection.send('hello')
    await expect.poll(() => connection.messages).toEqual(['hello'])
    const [seen] = world.service.handshakes
    expect(seen?.url).toBe('/base/web/v1/consumer/ticker?symbol=EUR')
    expect(Object.keys(seen?.headers ?? {}).sort()).toEqual([
      'accept',
      'authorization',
      'connection',
      'host',
      'sec-websocket-key',
      'sec-websocket-version',
      'upgrade',
      'x-client-country',
      'x-client-ip',
      'x-client-user-agent',
      'x-locale',
      'x-request-id',
    ])
    expect(seen?.headers.authorization).not.toContain(world.session.accessToken)
    connection.socket.destroy()
    await expect.poll(() => world.service.open).toEqual([])
  })

  test('relays bytes that the client sends with its handshake, and large messages', async () => {
    const large = 'x'.repeat(60_000)
    const connection = await world.open(path, {}, { tail: frameOf(1, Buffer.from('early'), true) })
    connection.send(large)
    await expect.poll(() => connection.messages).toEqual(['early', large])
    connection.socket.destroy()
  })

  test('a standard client sends its credentials in subprotocols, which the service does not get', async () => {
    const carried = [
      'x-portal-access-code',
      'x-request-id',
      'x-client-hash',
      'x-locale',
      'x-workspace-id',
      'authorization',
    ]
    const { ...edge } = world.headersOf()
    const protocols = carried.map((name) => {
      const value = edge[name] ?? ''
      delete edge[name]
      return credentialProtocol.format(name, value)
    })
    world.service.respond = (request, socket) =>
      world.service.accept(request, socket, { 'Sec-WebSocket-Protocol': 'prices.v1' })
    const { port } = new URL(world.portico.url)
    const offered = ['prices.v1', 'portico', ...protocols]
    const socket = new UndiciWebSocket(`ws://127.0.0.1:${port}${path}`, { protocols: offered, headers: edge })
    await once(socket, 'open')
    expect(socket.protocol).toBe('prices.v1')
    const received = once(socket, 'message')
    socket.send('hello')
    const [message] = await received
    expect(message.data).toBe('hello')
    const closed = once(socket, 'close')
    socket.close(1000, 'done')
    expect((await closed)[0]).toMatchObject({ code: 1000, reason: 'done', wasClean: true })
    expect(world.service.handshakes[0]?.headers['sec-websocket-protocol']).toBe('prices.v1')
    expect(world.service.handshakes[0]?.rawHeaders.join('\n')).not.toContain('portico.')
    expect(world.portico.rawLog.join('\n')).not.toContain(world.session.accessToken.slice(-40))
  })

  test('selects the protocol portico if the service selects none', async () => {
    const token = credentialProtocol.format('authorization', `Bearer ${world.session.accessToken}`)
    const changes = { authorization: null, 'sec-websocket-protocol': `portico, ${token}` }
    const connection = await world.open(path, changes)
    expect(await connection.head).toContain('Sec-WebSocket-Protocol: portico\r\n')
    expect(world.service.handshakes[0]?.headers).not.toHaveProperty('sec-websocket-protocol')
    connection.socket.destroy()
  })

  test('relays a close of the service, with its code', async () => {
    const connection = await world.open()
    connection.send('close')
    await expect.poll(connection.closeFrame).toEqual([4001, 'ok'])
    connection.socket.write(frameOf(8, Buffer.from([0x0f, 0xa1]), true))
    await connection.closed
  })

  test('an API key opens a socket on the machine chain', async () => {
    const created = await world.portico.call('POST', '/web/v1/consumer/api-keys', {
      token: world.session.accessToken,
      workspace,
      body: { apiKeyName: 'ticker', permissionCodes: ['ticker:read'] },
    })
    expect(created.status, created.text).toBe(200)
    const changes = { authorization: `Bearer ${created.body.data.secret}`, 'x-workspace-id': null }
    const connection = await world.open('/api/v1/consumer/ticker', changes)
    connection.send('hello')
    await expect.poll(() => connection.messages).toEqual(['hello'])
    connection.socket.destroy()
  })

  test('an anonymous operation needs no token', async () => {
    const connection = await world.open(`${path}/public`, { authorization: null, 'x-workspace-id': null })
    connection.socket.destroy()
    await connection.closed
  })
})

describe('ticker.follow: refuses before the service is contacted', () => {
  const foreign = '01990000-0000-7000-8000-0000000000ff'
  test.each<[string, string, Record<string, string | null>, number, string]>([
    ['no access code', path, { 'x-portal-access-code': null }, 403, 'ACCESS.PORTAL_MISMATCH'],
    ['a foreign origin', path, { origin: 'https://evil.example' }, 403, 'ACCESS.ORIGIN_NOT_ALLOWED'],
    ['an opaque origin', path, { origin: 'null' }, 403, 'ACCESS.ORIGIN_NOT_ALLOWED'],
    ['no X-Forwarded-Proto', path, { 'x-forwarded-proto': null }, 400, 'VALIDATION.INVALID_PARAMETER'],
    ['no X-Request-Id', path, { 'x-request-id': null }, 400, 'VALIDATION.INVALID_PARAMETER'],
    ['no client hash', path, { 'x-client-hash': null }, 400, 'VALIDATION.INVALID_PARAMETER'],
    ['another client hash', path, { 'x-client-hash': 'another' }, 401, 'ACCESS.TOKEN_INVALID'],
    ['no token', path, { authorization: null }, 401, 'ACCESS.TOKEN_MISSING'],
    ['a token in the query', `${path}?access_token=x`, { authorization: null }, 401, 'ACCESS.TOKEN_MISSING'],
    ['no workspace', path, { 'x-workspace-id': null }, 400, 'ACCESS.WORKSPACE_REQUIRED'],
    ['a foreign workspace', path, { 'x-workspace-id': foreign }, 403, 'ACCESS.PERMISSION_DENIED'],
    ['an unknown query parameter', `${path}?speed=1`, {}, 400, 'VALIDATION.INVALID_PARAMETER'],
    ['an invalid query parameter', `${path}?symbol=euro`, {}, 400, 'VALIDATION.INVALID_PARAMETER'],
    ['a malformed subprotocol', path, { 'sec-websocket-protocol': 'a b' }, 400, 'VALIDATION.INVALID_PARAMETER'],
    [
      'a header that a subprotocol cannot carry',
      path,
      { 'sec-websocket-protocol': `portico, ${credentialProtocol.format('cf-connecting-ip', '192.0.2.1')}` },
      400,
      'VALIDATION.INVALID_PARAMETER',
    ],
    [
      'a token both as a header and as a subprotocol',
      path,
      { 'sec-websocket-protocol': `portico, ${credentialProtocol.format('authorization', 'Bearer x')}` },
      401,
      'ACCESS.TOKEN_INVALID',
    ],
    [
      'credentials without the protocol portico',
      path,
      { 'sec-websocket-protocol': credentialProtocol.format('x-locale', 'en') },
      400,
      'VALIDATION.INVALID_PARAMETER',
    ],
  ])('%s', async (_name, target, changes, status, code) => {
    expect(await world.refusalOf(target, changes)).toEqual([status, code])
    expect(world.service.handshakes).toEqual([])
  })

  test('403 ACCESS.PERMISSION_DENIED: a member without ticker:read', async () => {
    const member = await signIn(world.portico, 'member@demo.test')
    const changes = { authorization: `Bearer ${member.accessToken}` }
    expect(await world.refusalOf(path, changes)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    expect(world.service.handshakes).toEqual([])
  })

  test('429 ACCESS.RATE_LIMITED: more sockets than an account can have open, until one closes', async () => {
    const [url = ''] = world.portico.urls
    const connections = []
    for (let count = 0; count < maxPerAccount; count++) connections.push(await world.open(path, {}, { url }))
    const before = world.service.handshakes.length
    expect(await world.refusalOf(path, {}, { url })).toEqual([429, 'ACCESS.RATE_LIMITED'])
    expect(world.service.handshakes.length).toBe(before)
    connections[0]?.socket.destroy()
    await expect.poll(() => world.service.open.length).toBe(maxPerAccount - 1)
    const again = await world.open(path, {}, { url })
    for (const { socket } of [...connections, again]) socket.destroy()
  })

  test('explain shows the stage that refused and the one that opened a socket', async () => {
    const [url = ''] = world.portico.urls
    await world.refusalOf(path, { 'x-request-id': 'explain-no', authorization: null }, { url })
    const connection = await world.open(path, { 'x-request-id': 'explain-yes' }, { url })
    const explain = async (id: string) => (await fetch(`${world.portico.operationsUrl}/explain/${id}`)).json()
    expect(JSON.stringify(await explain('explain-no'))).toContain('"stage":"authenticate","verdict":"refused"')
    expect(JSON.stringify(await explain('explain-yes'))).toContain('"status":101')
    connection.socket.destroy()
  })
})

describe('hostile upgrades', () => {
  test.each<[string, Record<string, string | null>]>([
    ['no upgrade', { upgrade: null, connection: null }],
    ['another protocol', { upgrade: 'h2c' }],
    ['two protocols', { upgrade: 'websocket, h2c' }],
    ['version 8', { 'sec-websocket-version': '8' }],
    ['no version', { 'sec-websocket-version': null }],
    ['no key', { 'sec-websocket-key': null }],
    ['a malformed key', { 'sec-websocket-key': 'short' }],
  ])('ticker.follow 426 REQUEST.UPGRADE_REQUIRED: %s', async (_name, changes) => {
    const connection = world.begin(path, changes)
    const head = await connection.head
    expect(head).toContain('HTTP/1.1 426')
    expect(head.toLowerCase()).toContain('sec-websocket-version: 13')
    await connection.closed
    expect(connection.text()).toContain('REQUEST.UPGRADE_REQUIRED')
    expect(world.service.handshakes).toEqual([])
  })

  test.each([
    ['a length', { 'content-length': '8' }],
    ['chunks', { 'transfer-encoding': 'chunked' }],
  ])('ticker.follow: a body with %s makes a handshake an ordinary request', async (_name, framing) => {
    const connection = world.begin(
      path,
      { ...framing, connection: 'Upgrade, close' },
      { tail: '3\r\nabc\r\n0\r\n\r\n' },
    )
    expect(await connection.head).toMatch(/^HTTP\/1.1 4(00|15|26)/)
    await connection.closed
    expect(connection.text().match(/HTTP\/1.1 /g)).toHaveLength(1)
    expect(world.service.handshakes).toEqual([])
  })

  test('requests after a refused handshake get no response', async () => {
    const tail = 'GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'
    const connection = world.begin(path, { authorization: null }, { tail })
    await connection.closed
    expect(connection.text().match(/HTTP\/1.1 /g)).toHaveLength(1)
    expect(connection.text()).toContain('ACCESS.TOKEN_MISSING')
  })

  test('an upgrade behind a request without a response closes the connection', async () => {
    const first = `GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n`
    const { hostname, port } = new URL(world.portico.url)
    const socket = connect(Number(port), hostname)
    const fields = { host: hostname, connection: 'Upgrade', upgrade: 'websocket', ...world.headersOf() }
    const handshake = { ...fields, 'sec-websocket-version': '13', 'sec-websocket-key': key }
    const lines = Object.entries(handshake).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.on('error', () => undefined).resume()
    socket.write(
      `${first.replace('/openapi.json', '/web/v1/consumer/ticker/last')}GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`,
    )
    await once(socket, 'close')
    expect(world.service.handshakes).toEqual([])
  })

  test('an upgrade of another operation is ignored', async () => {
    const { status, body } = await world.portico.call('GET', `${path}/last`, {
      token: world.session.accessToken,
      workspace,
    })
    expect([status, body.data]).toEqual([200, '1.00'])
    const connection = world.begin(`${path}/last`, { connection: 'Upgrade, close' })
    expect(await connection.head).toContain('HTTP/1.1 200')
    await connection.closed
  })

  test('a POST cannot open a socket', async () => {
    expect((await world.begin(path, { connection: 'Upgrade, close' }, { method: 'POST' }).head).slice(0, 12)).toBe(
      'HTTP/1.1 405',
    )
  })
})
