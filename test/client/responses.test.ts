import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { shouldSeal } from '../../src/client/channel/seal-rule.ts'
import { createClient, type HttpExchange } from '../../src/client/index.ts'
import { resolveOptions } from '../../src/client/options.ts'
import { catalogue, resources } from '../../src/contract/index.ts'
import { begun, completed, consumer, order, pair, sent, transfer, wallet, walletId } from './fixtures.ts'
import { hangUp, ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from './scripted-gateway.ts'

let gateway: ScriptedGateway | undefined
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  await gateway?.close()
})

const auth = 'POST /web/v1/consumer/auth'
const wallets = 'GET /web/v1/consumer/wallets'
function raw(status: number, body: unknown, headers: Record<string, string> = {}): Step {
  return (_, response) => void response.writeHead(status, headers).end(JSON.stringify(body))
}
const download = `GET /web/v1/consumer/files/${walletId}/download`
function attached(bytes: string): Step {
  return (_, response) => void response.setHeader('content-disposition', "attachment; filename*=UTF-8''a").end(bytes)
}
const frame = { success: true, code: '2000', message: 'Success', data: [wallet] }
const refusal = { ...frame, success: false, code: 'ACCESS.RATE_LIMITED' }

describe('a response', () => {
  it.each([
    ['has success: true and status 500', raw(500, frame)],
    ['has a numeric code', raw(429, { ...refusal, code: 4_290 })],
    ['has no message', raw(429, { ...refusal, message: undefined })],
    ['has a success that is not a boolean', raw(200, { ...frame, success: 'yes' })],
    ['is null', raw(503, null)],
  ])('that %s has no envelope: CLIENT.INVALID_REPLY with its status', async (_name, step) => {
    gateway = await scriptedGateway({ [wallets]: step })
    await expect(consumer(gateway.baseUrl).listWallets()).rejects.toMatchObject({
      code: 'CLIENT.INVALID_REPLY',
      status: expect.any(Number),
    })
  })

  it('of an invalid request has every invalid field, and none if the header has another form', async () => {
    const invalid = { ...refusal, code: 'VALIDATION.INVALID_PARAMETER' }
    const named = { 'x-portico-fields': 'amount;reason=too_small, "0";reason=unknown' }
    const broken = { 'x-portico-fields': 'amount;reason' }
    gateway = await scriptedGateway({ [wallets]: [raw(400, invalid, named), raw(400, invalid, broken)] })
    const client = consumer(gateway.baseUrl)
    const fields = [
      { name: 'amount', reason: 'too_small' },
      { name: '0', reason: 'unknown' },
    ]
    await expect(client.listWallets()).rejects.toMatchObject({ status: 400, fields })
    await expect(client.listWallets()).rejects.toMatchObject({ status: 400, fields: [] })
  })

  it('of a list shows that its total is an estimate', async () => {
    const marked = { 'x-total-estimated': 'true' }
    gateway = await scriptedGateway({ [wallets]: [raw(200, frame, marked), raw(200, frame)] })
    const client = consumer(gateway.baseUrl)
    const read = () => client.answer(resources.wallets.listWallets, {})
    const answers = [await read(), await read()]
    expect(answers.map(({ isTotalEstimated }) => isTotalEstimated)).toEqual([true, false])
  })

  it.each([
    ['7', 7],
    ['0', 0],
    ['7.5', null],
    ['7 seconds', null],
    ['Wed, 21 Oct 2026 07:28:00 GMT', null],
    ['9'.repeat(10), null],
  ])('with Retry-After %j has the wait %s s', async (text, retryAfter) => {
    gateway = await scriptedGateway({ [wallets]: raw(429, refusal, { 'retry-after': text }) })
    await expect(consumer(gateway.baseUrl).listWallets()).rejects.toMatchObject({ retryAfter })
  })

  it("to a download is the file if it is an attachment or a 304; a proxy's page is invalid", async () => {
    const page: Step = (_, response) => void response.setHeader('content-type', 'text/html').end('<h1>Sign in</h1>')
    gateway = await scriptedGateway({ [download]: [attached('bytes'), raw(304, null), page, ok(null)] })
    const client = consumer(gateway.baseUrl)
    const send = () => client.downloadFile({ params: { file_id: walletId }, headers: { 'if-none-match': '"one"' } })
    expect(await (await send()).text()).toBe('bytes')
    expect((await send()).status).toBe(304)
    for (let round = 0; round < 2; round++)
      await expect(send()).rejects.toMatchObject({ code: 'CLIENT.INVALID_REPLY', status: 200 })
  })

  it('to a download is a refusal by its status, even with an attachment header', async () => {
    const attachment = raw(429, refusal, { 'content-disposition': 'attachment' })
    gateway = await scriptedGateway({ [download]: attachment })
    const credentials = consumer(gateway.baseUrl).downloadFile({ params: { file_id: walletId } })
    await expect(credentials).rejects.toMatchObject({ code: 'ACCESS.RATE_LIMITED', status: 429 })
  })

  it('must match the schema; undeclared members are dropped', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([{ ...wallet, unpromised: 1 }]) })
    expect(await consumer(gateway.baseUrl).listWallets()).toEqual([wallet])
  })

  it('has its timestamp, if there is one', async () => {
    gateway = await scriptedGateway({ [wallets]: [raw(200, { ...frame, timestamp: 1_700 }), raw(200, frame)] })
    const client = consumer(gateway.baseUrl)
    const { listWallets } = resources.wallets
    const responses = [await client.answer(listWallets, {}), await client.answer(listWallets, {})]
    expect(responses.map(({ timestamp }) => timestamp)).toEqual([1_700, null])
  })

  it('that redirects, such as to a sign-in page, is not followed, and no money command is retried', async () => {
    const elsewhere: Step = (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end()
    const created = 'POST /web/v1/consumer/transfer/command/create'
    gateway = await scriptedGateway({ [created]: elsewhere, 'POST /elsewhere': ok(order), 'GET /elsewhere': ok(order) })
    const reply = consumer(gateway.baseUrl).createTransfer({ body: transfer })
    await expect(reply).rejects.toMatchObject({ code: 'CLIENT.INVALID_REPLY', status: 302 })
    expect(gateway.seen).toHaveLength(1)
  })
})

describe('a call', () => {
  it("has both its timeout and the caller's signal, and leaves no listener on the signal", async () => {
    const never: Step = () => undefined
    gateway = await scriptedGateway({ [wallets]: [ok([wallet]), never, never] })
    const caller = new AbortController()
    const { signal } = caller
    const fetched = vi.fn(globalThis.fetch)
    const patient = consumer(gateway.baseUrl, { timeoutMs: 60_000, fetch: fetched })
    await patient.listWallets({ signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
    const call = patient.listWallets({ signal })
    await expect.poll(() => gateway?.to('/wallets')).toHaveLength(2)
    const hasty = consumer(gateway.baseUrl, { timeoutMs: 300 })
    await expect(hasty.listWallets({ signal })).rejects.toHaveProperty('code', 'CLIENT.TIMEOUT')
    caller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    // The client aborts the request and does not only ignore the response.
    await expect(fetched.mock.results[1]?.value).rejects.toThrow('enough')
  })

  it('has both without AbortSignal.any, as in Node 20.0 and Safari before 17.4', async () => {
    const { any } = AbortSignal
    Reflect.deleteProperty(AbortSignal, 'any')
    try {
      gateway = await scriptedGateway({ [wallets]: [ok([wallet]), () => undefined] })
      const caller = new AbortController()
      const client = consumer(gateway.baseUrl)
      expect(await client.listWallets({ signal: caller.signal })).toHaveLength(1)
      const call = client.listWallets({ signal: caller.signal })
      await expect.poll(() => gateway?.to('/wallets')).toHaveLength(2)
      caller.abort(new Error('enough'))
      await expect(call).rejects.toThrow('enough')
    } finally {
      AbortSignal.any = any
    }
  })

  it.each([Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40, 1_500.5])(
    'completes with a timeout of %d ms',
    async (timeoutMs) => {
      gateway = await scriptedGateway({ [wallets]: ok([wallet]) })
      expect(await consumer(gateway.baseUrl, { timeoutMs }).listWallets()).toHaveLength(1)
    },
  )

  it('has no timeout for uploads and downloads, only for JSON', async () => {
    const times = vi.spyOn(AbortSignal, 'timeout')
    gateway = await scriptedGateway({
      [wallets]: ok([]),
      [download]: attached('bytes'),
    })
    const client = createClient({ baseUrl: gateway.baseUrl, portal: 'CONSUMER', accessCode: 'x' })
    await client.downloadFile({ params: { file_id: walletId } })
    await client.uploadFile({ body: new FormData() }).catch(() => undefined)
    expect(times).not.toHaveBeenCalled()
    await client.listWallets()
    expect(times.mock.calls).toEqual([[30_000]])
  })

  it('sends no cookie and no referrer, and uses no cache', async () => {
    gateway = await scriptedGateway({ [wallets]: ok([]) })
    const fetched = vi.fn(globalThis.fetch)
    await consumer(gateway.baseUrl, { fetch: fetched }).listWallets()
    expect(fetched.mock.calls[0]?.[1]).toMatchObject({
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'manual',
      referrerPolicy: 'no-referrer',
    })
  })

  it('is observed with its body before sealing', async () => {
    gateway = await scriptedGateway({ [`${auth}/login/initiate`]: ok(begun) })
    const watched: HttpExchange[] = []
    const body = { email: 'owner@demo.test', password: 'Portico-demo-2026' }
    await consumer(gateway.baseUrl, { onExchange: (exchange) => watched.push(exchange) }).initiateLogin({ body })
    expect(watched).toMatchObject([{ request: body, sealed: false, method: 'POST' }])
  })
})

describe('sign-in and sign-out', () => {
  it.each(['OTP', 'BACKUP_CODE'])('use %s if it is the first method offered', async (code) => {
    const method = { ...begun.mfaMethods[0], code }
    gateway = await scriptedGateway({
      [`${auth}/login/initiate`]: ok({ ...begun, mfaMethods: [method] }),
      [`${auth}/login/mfa/send`]: ok(sent),
      [`${auth}/login/complete`]: ok(completed),
    })
    const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026', code: () => '123456' }
    await consumer(gateway.baseUrl).signIn(credentials)
    expect(gateway.to('/mfa/send')).toEqual([])
    expect(gateway.to('/login/complete')[0]?.body).toMatchObject({ mfaMethod: code })
  })

  it.each<[string, Step]>([
    ['is unreachable', hangUp],
    ['refuses the sign-out', refuse(503, 'SYSTEM.UNAVAILABLE')],
  ])('delete the tokens even if the gateway %s, and report it', async (_name, step) => {
    gateway = await scriptedGateway({ [`${auth}/logout`]: step })
    const client = consumer(gateway.baseUrl)
    await client.session.adopt(pair('1'))
    await expect(client.signOut()).rejects.toHaveProperty('name', 'PorticoError')
    expect(await client.session.tokens()).toBeNull()
  })
})

describe('the default options', () => {
  it('apply where an option is not set', () => {
    expect(resolveOptions({ baseUrl: 'http://gateway//' })).toMatchObject({
      baseUrl: 'http://gateway',
      locale: 'en',
      edge: null,
      seal: 'sensitive',
      retry: { attempts: 5, firstDelayMs: 250, maxDelayMs: 10_000 },
      timeoutMs: 30_000,
    })
  })

  it('apply where an option is undefined', () => {
    const retry = { attempts: undefined, firstDelayMs: undefined, maxDelayMs: 20 }
    // @ts-expect-error: allowed in a project without exactOptionalPropertyTypes
    expect(resolveOptions({ baseUrl: '', retry }).retry).toEqual({ attempts: 5, firstDelayMs: 250, maxDelayMs: 20 })
  })

  it.each([
    ['baseUrl: localhost:8080 must start with http://, https:// or /', { baseUrl: 'localhost:8080' }],
    ['baseUrl: 127.0.0.1:8080 must start with http://, https:// or /', { baseUrl: '127.0.0.1:8080' }],
    ['baseUrl: ws://portal must start with http://, https:// or /', { baseUrl: 'ws://portal' }],
    ['timeoutMs: NaN must be greater than 0', { timeoutMs: Number.NaN }],
    ['timeoutMs: -1 must be greater than 0', { timeoutMs: -1 }],
    ['timeoutMs: 0 must be greater than 0', { timeoutMs: 0 }],
    ['retry.attempts: NaN must be at least 0', { retry: { attempts: Number.NaN } }],
    ['retry.firstDelayMs: -1 must be at least 0', { retry: { firstDelayMs: -1 } }],
  ])('cannot be replaced by an invalid value: %s', (complaint, options) => {
    expect(() => resolveOptions({ baseUrl: '', ...options })).toThrow(new TypeError(complaint))
  })

  it('use the global fetch at the time of the call, called on the global object', async () => {
    const { fetch } = resolveOptions({ baseUrl: 'http://gateway' })
    const called = vi.fn(function (this: unknown) {
      return Promise.resolve(new Response(String(this === globalThis)))
    })
    vi.stubGlobal('fetch', called)
    expect(await (await fetch('http://gateway')).text()).toBe('true')
  })

  it('use fetch without onProgress even where XMLHttpRequest exists, which would send cookies', async () => {
    gateway = await scriptedGateway({ [wallets]: raw(200, frame) })
    vi.stubGlobal('XMLHttpRequest', () => expect.fail())
    expect(await consumer(gateway.baseUrl).listWallets()).toEqual([wallet])
  })

  it('seal calls with a secret in body or reply', () => {
    const sealed = catalogue.filter((operation) => shouldSeal(operation, 'sensitive', undefined)).map(({ id }) => id)
    expect(sealed.toSorted()).toEqual([
      'apiKeys.create',
      'apiKeys.createForOperators',
      'apiKeys.deleteAny',
      'apiKeys.deleteOfOperators',
      'apiKeys.disableAny',
      'apiKeys.disableOfOperators',
      'apiKeys.enable',
      'apiKeys.enableAny',
      'apiKeys.enableOfOperators',
      'auth.loginComplete',
      'auth.loginInitiate',
      'auth.mfaSend',
      'auth.passkeyOptions',
      'auth.passkeyVerify',
      'auth.providerComplete',
      'auth.providerInitiate',
      'auth.refresh',
      'browserSessions.start',
      'browserSessions.startWithPasskey',
      'browserSessions.startWithProvider',
      'exchanges.confirmRate',
      'exchanges.setRate',
      'exchanges.unsetRate',
      'invitations.confirm',
      'ipWhitelist.disable',
      'ipWhitelist.enable',
      'ipWhitelist.replace',
      'mfa.generateBackupCodes',
      'mfa.otpRevoke',
      'mfa.otpSetup',
      'mfa.otpVerify',
      'mfa.stepUp',
      'mfa.stepUpPasskeyOptions',
      'operators.approveAccount',
      'operators.freezeWorkspace',
      'operators.reactivateAccount',
      'operators.rejectAccount',
      'operators.suspendAccount',
      'operators.terminateAccountSessions',
      'operators.unfreezeWorkspace',
      'passkeys.delete',
      'passkeys.options',
      'passkeys.register',
      'password.change',
      'password.forgot',
      'password.init',
      'password.reset',
      'password.undoFactors',
      'proposals.confirm',
      'proposals.invite',
      'proposals.proposeOwner',
      'proposals.proposePermissions',
      'proposals.reject',
      'proposals.resetFactor',
      'proposals.revokePermissions',
      'providers.link',
      'providers.linkInitiate',
      'providers.stepUp',
      'providers.stepUpInitiate',
      'providers.unlink',
      'recharges.allowReference',
      'recharges.confirm',
      'recharges.reject',
      'registration.complete',
      'registration.initiate',
      'registration.passkey',
      'registration.passkeyOptions',
      'registration.verifyEmail',
      'roles.changeMember',
      'roles.removeMember',
      'roles.restore',
      'roles.restoreMember',
      'roles.setPermissions',
      'transfers.approve',
      'transfers.reject',
      'wallets.close',
      'wallets.freeze',
      'wallets.unfreeze',
      'webhooks.create',
      'webhooks.createPlatform',
      'webhooks.disableAny',
      'webhooks.enable',
      'webhooks.enableAny',
      'webhooks.enablePlatform',
      'webhooks.replayPlatform',
      'webhooks.resendPlatform',
      'webhooks.rotatePlatformSecret',
      'webhooks.rotateSecret',
      'webhooks.testPlatform',
      'withdrawalChannels.create',
      'withdrawalChannels.reactivate',
      'withdrawalChannels.reject',
      'withdrawalChannels.reveal',
      'withdrawalChannels.verify',
      'withdrawals.approve',
      'withdrawals.complete',
      'withdrawals.fail',
      'withdrawals.reject',
      'withdrawals.return',
      'workspaces.limitMember',
    ])
  })
})
