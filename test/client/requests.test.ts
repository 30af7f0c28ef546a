import { afterEach, describe, expect, it, vi } from 'vitest'
import { createClient, type HttpExchange, PorticoError } from '../../src/client/index.ts'
import { credentialProtocol } from '../../src/contract/header-values.ts'
import { consumer, order, pair, transfer, wallet, walletId } from './fixtures.ts'
import { hangUp, ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from './scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const wallets = 'GET /web/v1/consumer/wallets'
const create = 'POST /web/v1/consumer/transfer/command/create'
const config = 'GET /web/v1/users/self/security/sessions/config'
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

async function failure(call: Promise<unknown>): Promise<PorticoError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof PorticoError) return error
  throw new Error('no PorticoError', { cause: error })
}

describe('a request', () => {
  it('has the headers of the interface', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([wallet]) })
    const client = consumer(`${gateway.baseUrl}/`, { locale: 'ja', edgeHeaders: { country: 'DE' } })
    await client.session.adopt(pair('1'))
    await client.listWallets({ workspaceId: walletId })
    await client.listWallets({ requestId: 'mine', headers: { 'X-Locale': 'vi' } })
    await client.listWallets({ workspaceId: '' })
    const [first, second, third] = gateway.seen
    expect(first?.headers).toMatchObject({
      'x-portal-access-code': 'consumer-dev',
      'x-request-id': expect.stringMatching(uuid),
      'x-client-hash': await client.clientHash(),
      'x-forwarded-proto': 'https',
      'cf-connecting-ip': '127.0.0.1',
      'cf-ray': expect.stringMatching(/^[0-9a-f]{16}$/),
      'cf-ipcountry': 'DE',
      'x-locale': 'ja',
      'content-type': 'application/json',
      'x-workspace-id': walletId,
      authorization: 'Bearer access-1',
    })
    expect(second?.headers).toMatchObject({ 'x-request-id': 'mine', 'x-locale': 'vi' })
    expect(second?.headers['x-client-hash']).toBe(first?.headers['x-client-hash'])
    // A missing id does not select the default workspace.
    expect([second?.headers['x-workspace-id'], third?.headers['x-workspace-id']]).toEqual([undefined, ''])
  })

  it('has no edge headers unless configured', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([]) })
    await consumer(gateway.baseUrl).listWallets()
    for (const name of ['x-forwarded-proto', 'cf-connecting-ip', 'cf-ray', 'cf-ipcountry', 'authorization'])
      expect(gateway.seen[0]?.headers).not.toHaveProperty(name)
  })

  it('of users/self has its own headers and numeric codes', async () => {
    const bare: Step = (_, response) => {
      response.writeHead(401).end(JSON.stringify({ success: false, code: '4010', message: 'expired' }))
    }
    gateway = await scriptedGateway({ [config]: bare })
    const client = createClient({ baseUrl: gateway.baseUrl, portal: 'SYSTEM', accessCode: 'x', locale: 'zh-Hant' })
    expect(await failure(client.readOwnSessionConfig())).toMatchObject({
      status: 401,
      code: '4010',
      message: 'expired',
    })
    expect(gateway.seen[0]?.headers).toMatchObject({ 'accept-language': 'zh-Hant', 'content-type': 'application/json' })
    expect(gateway.seen[0]?.headers).not.toHaveProperty('x-portal-access-code')
  })

  it('encodes parameters and omits undefined ones', async () => {
    gateway = await scriptedGateway({})
    const client = consumer(gateway.baseUrl)
    const query = { pageSize: 5, startTime: '2026-01-01T00:00:00+02:00', endTime: undefined }
    await failure(client.readWallet({ workspaceId: walletId, params: { wallet_id: 'a/b?c' } }))
    await failure(client.listTransfers(Object.assign({ query }, {})))
    expect(gateway.seen.map(({ path }) => path)).toEqual([
      '/web/v1/consumer/wallets/a%2Fb%3Fc',
      '/web/v1/consumer/transfer/query/orders?pageSize=5&startTime=2026-01-01T00%3A00%3A00%2B02%3A00',
    ])
  })

  it("with an empty or dot parameter is rejected: its path would be another operation's", async () => {
    gateway = await scriptedGateway({})
    const client = consumer(gateway.baseUrl)
    for (const wallet_id of ['', '.', '..'])
      await expect(client.listFlows({ workspaceId: walletId, params: { wallet_id } })).rejects.toThrow(
        `'${wallet_id}' is not a valid wallet_id`,
      )
    expect(gateway.seen).toEqual([])
  })

  it('with an invalid header value rejects with a TypeError without the value, and is not retried', async () => {
    gateway = await scriptedGateway({})
    const client = consumer(gateway.baseUrl)
    const fields = [
      ['x-workspace-id', { workspaceId: 'a\nb' }],
      ['x-request-id', { requestId: '口座' }],
      ['bad name', { headers: { 'bad name': 'x' } }],
    ] as const
    for (const [name, value] of fields) {
      const complaint = `transfers.create: the value of header '${name}' is invalid`
      await expect(client.createTransfer({ body: transfer, ...value })).rejects.toThrow(new TypeError(complaint))
    }
    expect(gateway.seen).toEqual([])
  })

  it('sends forms and leaves bytes unread', async () => {
    const file = `/web/v1/consumer/files/${walletId}/download`
    const bytes: Step = (_, response) => {
      response.writeHead(206, { 'content-range': 'bytes 0-1/4', 'content-disposition': 'attachment' }).end('ab')
    }
    gateway = await scriptedGateway({ [`GET ${file}`]: [bytes, refuse(404, 'RESOURCE.NOT_FOUND')] })
    const client = consumer(gateway.baseUrl)
    const download = { params: { file_id: walletId }, headers: { range: 'bytes=0-1' } }
    const reply = await client.downloadFile(download)
    expect([reply.status, await reply.text()]).toEqual([206, 'ab'])
    expect((await failure(client.downloadFile(download))).code).toBe('RESOURCE.NOT_FOUND')
    const form = new FormData()
    form.set('purpose', 'DOCUMENT')
    form.set('file', new Blob(['hello']), 'hello.txt')
    await failure(client.uploadFile({ body: form }))
    expect(gateway.seen.at(-1)?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
    expect(gateway.seen.at(-1)?.body).toContain('filename="hello.txt"')
  })

  it('can be observed', async () => {
    const file: Step = (_, response) => void response.setHeader('content-disposition', 'attachment').end('bytes')
    gateway = await scriptedGateway({
      [wallets]: [ok([]), refuse(429, 'ACCESS.RATE_LIMITED')],
      [`GET /web/v1/consumer/files/${walletId}/download`]: file,
    })
    const watched: HttpExchange[] = []
    const client = consumer(gateway.baseUrl, { onExchange: (exchange) => watched.push(exchange) })
    await client.listWallets({ requestId: 'one' })
    await failure(client.listWallets({ requestId: 'two' }))
    await client.downloadFile({ params: { file_id: walletId }, requestId: 'three' })
    expect(watched).toMatchObject([
      { operationId: 'wallets.list', requestId: 'one', status: 200, reply: { data: [] } },
      { operationId: 'wallets.list', requestId: 'two', status: 429, reply: { code: 'ACCESS.RATE_LIMITED' } },
      { operationId: 'files.download', requestId: 'three', status: 200, reply: null },
    ])
  })
})

describe('a failure', () => {
  it('has its code, request id and waiting time', async () => {
    const limited = refuse(429, 'ACCESS.RATE_LIMITED', { 'retry-after': '7', 'x-request-id': 'echoed' })
    gateway = await scriptedGateway({ [wallets]: limited })
    const error = await failure(consumer(gateway.baseUrl).listWallets())
    expect({ ...error, message: error.message }).toEqual({
      name: 'PorticoError',
      oldestCursor: null,
      status: 429,
      code: 'ACCESS.RATE_LIMITED',
      message: 'refused: ACCESS.RATE_LIMITED',
      requestId: 'echoed',
      retryAfter: 7,
      fields: [],
    })
  })

  it("is distinguished: no response, timeout, no envelope, invalid reply, caller's abort", async () => {
    const html: Step = (_, response) => {
      response.writeHead(200).end('<html>')
    }
    const never: Step = () => undefined
    gateway = await scriptedGateway({ [wallets]: [hangUp, never, html, ok([{ bizId: 5 }]), never] })
    const client = consumer(gateway.baseUrl)
    const codes: string[] = []
    for (const timeoutMs of [20_000, 1_000, 20_000, 20_000])
      codes.push((await failure(consumer(gateway.baseUrl, { timeoutMs }).listWallets())).code)
    expect(codes).toEqual(['CLIENT.NETWORK', 'CLIENT.TIMEOUT', 'CLIENT.INVALID_REPLY', 'CLIENT.INVALID_REPLY'])
    const reason = new Error('enough')
    await expect(client.listWallets({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    // Browsers abort when the user leaves the page or a worker ends.
    const cause = new DOMException('left', 'AbortError')
    const left = await failure(consumer(gateway.baseUrl, { fetch: () => Promise.reject(cause) }).listWallets())
    expect([left.code, left.cause]).toEqual(['CLIENT.NETWORK', cause])
    // WebKit reports every aborted signal with this error, Firefox only once the response has begun.
    const fetch: typeof globalThis.fetch = (...expected) =>
      globalThis.fetch(...expected).catch(() => Promise.reject(cause))
    const timedOut = await failure(consumer(gateway.baseUrl, { timeoutMs: 300, fetch }).listWallets())
    expect([timedOut.code, timedOut.cause]).toEqual(['CLIENT.TIMEOUT', cause])
  })

  it("is the caller's abort immediately, also while waiting for a channel or tokens; nothing is sent later", async () => {
    const held: (() => void)[] = []
    const timedOut: Step = (_, response) => void held.push(() => response.destroy())
    const key = 'GET /web/v1/consumer/secure-channel/public-key'
    gateway = await scriptedGateway({ [key]: timedOut, 'POST /web/v1/consumer/auth/token/refresh': timedOut })
    const reason = new Error('enough')
    const givenUp = async (call: (signal: AbortSignal) => Promise<unknown>): Promise<void> => {
      const caller = new AbortController()
      const called = call(caller.signal)
      const expected = gateway.seen.length + 1
      await expect.poll(() => gateway.seen.length).toBe(expected)
      caller.abort(reason)
      await expect(called).rejects.toBe(reason)
    }
    const client = consumer(gateway.baseUrl, { retry: { attempts: 1 } })
    const body = { email: 'owner@demo.test', password: 'Portico-demo-2026' }
    await givenUp((signal) => client.initiateLogin({ body, seal: true, signal }))
    await client.session.adopt(pair('1', 0))
    await givenUp((signal) => client.createTransfer({ body: transfer, signal }))
    const renewal = client.session.fresh()
    for (const release of held) release()
    await renewal
    const aborted = AbortSignal.abort(reason)
    await expect(client.initiateLogin({ body, seal: true, signal: aborted })).rejects.toBe(reason)
    expect(gateway.seen.map(({ path }) => path.split('/').at(-1))).toEqual(['public-key', 'refresh'])
  })
})

describe('a money command', () => {
  it('is retried under the same request id until its result is known', async () => {
    const steps = [
      hangUp,
      refuse(503, 'SYSTEM.UNAVAILABLE', { 'retry-after': '0' }),
      refuse(504, 'SYSTEM.UPSTREAM_TIMEOUT'),
      refuse(409, 'REQUEST.IN_PROGRESS'),
      ok(order),
    ]
    gateway = await scriptedGateway({ [create]: steps })
    const created = await consumer(gateway.baseUrl).createTransfer({ body: transfer })
    expect(created.orderNo).toBe('TR-1')
    expect(gateway.seen).toHaveLength(5)
    expect(new Set(gateway.seen.map(({ headers }) => headers['x-request-id'])).size).toBe(1)
    expect(gateway.seen.at(-1)?.body).toEqual(transfer)
  })

  it('is retried if an edge, or the gateway for a service, reports a lost response', async () => {
    const edge =
      (status: number): Step =>
      (_, response) =>
        void response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>')
    const steps = [edge(502), edge(524), edge(504), refuse(502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'), ok(order)]
    gateway = await scriptedGateway({ [create]: steps })
    const client = consumer(gateway.baseUrl, { retry: { firstDelayMs: 1 } })
    expect((await client.createTransfer({ body: transfer })).orderNo).toBe('TR-1')
    expect(new Set(gateway.seen.map(({ headers }) => headers['x-request-id'])).size).toBe(1)
  })

  it('fails with the last error after the maximum number of attempts', async () => {
    gateway = await scriptedGateway({ [create]: refuse(503, 'SYSTEM.UNAVAILABLE') })
    const client = consumer(gateway.baseUrl, { retry: { attempts: 3, firstDelayMs: 1 } })
    expect((await failure(client.createTransfer({ body: transfer }))).code).toBe('SYSTEM.UNAVAILABLE')
    expect(gateway.seen).toHaveLength(3)
  })

  it('is not retried after a refusal, or if the wait exceeds the rule', async () => {
    const fault = refuse(500, 'SYSTEM.INTERNAL_ERROR')
    const unavailable = refuse(503, 'SYSTEM.UNAVAILABLE', { 'retry-after': '60' })
    gateway = await scriptedGateway({ [create]: [refuse(422, 'WALLET.INSUFFICIENT_FUNDS'), fault, unavailable] })
    const client = consumer(gateway.baseUrl)
    expect((await failure(client.createTransfer({ body: transfer }))).code).toBe('WALLET.INSUFFICIENT_FUNDS')
    expect((await failure(client.createTransfer({ body: transfer }))).code).toBe('SYSTEM.INTERNAL_ERROR')
    expect(await failure(client.createTransfer({ body: transfer }))).toMatchObject({ retryAfter: 60 })
    expect(gateway.seen).toHaveLength(3)
  })

  it('can be aborted while it waits', async () => {
    gateway = await scriptedGateway({ [create]: refuse(503, 'SYSTEM.UNAVAILABLE', { 'retry-after': '5' }) })
    const client = consumer(gateway.baseUrl)
    const signal = AbortSignal.timeout(50)
    await expect(client.createTransfer({ body: transfer, signal })).rejects.toHaveProperty('name', 'TimeoutError')
  })

  it('aborted while it waits sends nothing more, not even a renewal for its next attempt', async () => {
    gateway = await scriptedGateway({ [create]: refuse(503, 'SYSTEM.UNAVAILABLE') })
    let now = 0
    const client = consumer(gateway.baseUrl, { retry: { firstDelayMs: 100 }, now: () => now })
    await client.session.adopt(pair('1'))
    const caller = new AbortController()
    // Fake timers wait until the test ends the wait.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const call = client.createTransfer({ body: transfer, signal: caller.signal })
    const value = expect(call).rejects.toThrow('enough')
    await expect.poll(() => vi.getTimerCount()).toBe(1)
    // Only an expired token would be renewed.
    now += 900_000
    caller.abort(new Error('enough'))
    await value
    vi.advanceTimersByTime(100)
    vi.useRealTimers()
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(gateway.seen).toHaveLength(1)
  })

  it("aborted in flight rejects with the caller's reason and is not repeated", async () => {
    gateway = await scriptedGateway({ [create]: () => undefined })
    const client = consumer(gateway.baseUrl)
    const caller = new AbortController()
    const call = client.createTransfer({ body: transfer, signal: caller.signal })
    const reason = new Error('enough')
    const failed = expect(call).rejects.toBe(reason)
    await expect.poll(() => gateway.seen.length).toBe(1)
    caller.abort(reason)
    await failed
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(gateway.seen).toHaveLength(1)
  })

  it('is the only call that is retried', async () => {
    gateway = await scriptedGateway({ [wallets]: hangUp })
    await failure(consumer(gateway.baseUrl).listWallets())
    expect(gateway.seen).toHaveLength(1)
  })
})

describe('socketProtocols', () => {
  it('carries the headers of a handshake behind the protocols of the application', async () => {
    gateway = await scriptedGateway({})
    const client = consumer(gateway.baseUrl, { locale: 'ja' })
    await client.session.adopt(pair('1'))
    const [first, second, ...carried] = await client.socketProtocols({ workspaceId: walletId, protocols: ['prices'] })
    expect([first, second]).toEqual(['prices', 'portico'])
    expect(Object.fromEntries(carried.map((protocol) => credentialProtocol.parse(protocol) ?? []))).toEqual({
      'x-portal-access-code': 'consumer-dev',
      'x-request-id': expect.stringMatching(uuid),
      'x-client-hash': await client.clientHash(),
      'x-locale': 'ja',
      'x-workspace-id': walletId,
      authorization: 'Bearer access-1',
    })
  })

  it('carries no token without a sign-in', async () => {
    gateway = await scriptedGateway({})
    const protocols = await consumer(gateway.baseUrl).socketProtocols()
    expect(protocols.map((protocol) => protocol.split('.')[1])).not.toContain('authorization')
    expect(protocols).toContain('portico')
  })
})
