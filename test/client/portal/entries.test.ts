import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import examples from '../../../docs/examples.json' with { type: 'json' }
import manifest from '../../../package.json' with { type: 'json' }
import { entryExports } from '../../../scripts/client/entries.ts'
import { methods } from '../../../scripts/client/methods.ts'
import { buildClientPackage } from '../../../scripts/client-package.ts'
import type * as portal from '../../../src/client/portal/index.ts'
import type { ChainId } from '../../../src/kernel/index.ts'
import { root } from '../../harness/settings.ts'
import { begun, completed, order, pair, sent, transfer, wallet } from '../fixtures.ts'
import { hangUp, ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../scripted-gateway.ts'

type Method = (args?: object) => Promise<unknown>
type Operation = portal.PortalOperation<'CONSUMER', Method>
type Client<M extends 'cookie' | 'tokens'> = portal.PortalClient<'CONSUMER', M>

/** An entry of the built package, whose declarations the package test checks. */
interface Entry {
  createClient<M extends 'cookie' | 'tokens'>(options: portal.PortalClientOptions<M>): Client<M>
  cookieSession(): portal.SessionFeature<'cookie'>
  tokenSession(): portal.SessionFeature<'tokens'>
  secureChannel(): portal.ChannelFeature
  stepUpByCode(prompt: portal.StepUpPrompt): portal.StepUpFeature
  signIn(client: Client<'cookie'> | Client<'tokens'>, input: portal.SignIn): Promise<object>
  followEvents(
    client: Client<'cookie'> | Client<'tokens'>,
    options?: portal.EventsOptions,
  ): AsyncGenerator<portal.ReceivedEvent, void, undefined>
  listWallets: Operation
  createTransfer: Operation
}

const kinds = ['', 'unchecked/'] as const
const names = ['consumer', 'system'] as const
const ofPortal = { consumer: methods.ConsumerMethods, system: methods.SystemMethods }

let folder: string
let gateway: ScriptedGateway | undefined
beforeAll(async () => {
  // Imports resolve only inside the project.
  folder = await mkdtemp(join(root, 'node_modules', '.portico-entries-'))
  buildClientPackage(folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))
afterEach(() => gateway?.close())

const load = async (name: string) => import(pathToFileURL(join(folder, 'client', `${name}.js`)).href)
const entry = async (kind: string): Promise<Entry> => load(`${kind}consumer`)

async function operationsIn(name: string): Promise<Record<string, Operation>> {
  const exported: Record<string, unknown> = await load(name)
  const isOperation = (each: [string, unknown]): each is [string, Operation] =>
    typeof each[1] === 'object' && each[1] !== null && 'policy' in each[1]
  return Object.fromEntries(Object.entries(exported).filter(isOperation))
}

async function sizeOf(program: string): Promise<number> {
  const input = join(folder, 'page.js')
  await writeFile(input, program)
  await using bundle = await rolldown({ input, platform: 'browser' })
  return gzipSync((await bundle.generate({ minify: true })).output[0].code).length
}

const page = (kind: string, session: string, more: { imports: string; options: string }): string =>
  `import { createClient, ${session}, listTransfers${more.imports} } from './client/${kind}consumer.js'
  const client = createClient({ baseUrl: '/', accessCode: 'x', session: ${session}(), ${more.options} })
  console.log(await client.call(listTransfers))`

/** All of them, and passkeys. */
const passkeys = (kind: string): string =>
  `import { addPasskey, createClient, cookieSession, listTransfers, passkeys, secureChannel, signIn, signInWithPasskey,
    stepUpByCode } from './client/${kind}consumer.js'
  import { webAuthn } from './client/passkeys/index.js'
  const client = createClient({ baseUrl: '/', accessCode: 'x', session: cookieSession(), passkeys: passkeys(webAuthn()),
    secureChannel: secureChannel(), onStepUp: stepUpByCode({ code: prompt }) })
  console.log(await client.call(listTransfers), signIn, signInWithPasskey, addPasskey)`

const following = (kind: string): string =>
  `import { createClient, cookieSession, followEvents } from './client/${kind}consumer.js'
  const client = createClient({ baseUrl: '/', accessCode: 'x', session: cookieSession(), seal: 'none' })
  for await (const { event } of followEvents(client)) console.log(event)`

const plain = { imports: '', options: "seal: 'none'" }
const full = {
  imports: ', secureChannel, signIn, stepUpByCode',
  options: 'secureChannel: secureChannel(), onStepUp: stepUpByCode({ code: prompt }), onSignedOut: signIn',
}

test('portico has the entries of portico-client below portico/client', async () => {
  expect(manifest.exports).toMatchObject(entryExports('./client', './dist/portico-client/client'))
  expect(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')).exports).toMatchObject(
    entryExports('.', './client'),
  )
})

describe('a page with one call', () => {
  test.each([
    ['checked, cookie', page('', 'cookieSession', plain), 20_000],
    ['checked, tokens', page('', 'tokenSession', plain), 20_000],
    ['unchecked, cookie', page('unchecked/', 'cookieSession', plain), 8_000],
    ['unchecked, tokens', page('unchecked/', 'tokenSession', plain), 8_500],
    ['checked, follows events', following(''), 20_000],
    ['unchecked, follows events', following('unchecked/'), 12_000],
    ['checked, with every part', page('', 'cookieSession', full), 20_000],
    ['unchecked, with every part', page('unchecked/', 'cookieSession', full), 12_000],
    ['checked, with every part and passkeys', passkeys(''), 24_000],
    ['unchecked, with every part and passkeys', passkeys('unchecked/'), 16_000],
  ] as const)('%s: takes at most its limit, and the guide has the figure', async (name, program, limit) => {
    const bytes = await sizeOf(program)
    expect(bytes).toBeLessThan(limit)
    const guide = await readFile(join(root, 'docs/guides/client-size.md'), 'utf8')
    const figure = 1_000 * Number(new RegExp(`^\\| ${name} \\| ([\\d.]+) kB \\|$`, 'm').exec(guide)?.[1])
    expect(bytes).toBeLessThanOrEqual(figure)
    expect(bytes).toBeGreaterThan(figure - 1_500)
  })

  test("contains neither zod's compiler, nor other operations, nor parts that it does not use", async () => {
    await writeFile(join(folder, 'page.js'), page('', 'cookieSession', plain))
    await using bundle = await rolldown({ input: join(folder, 'page.js'), platform: 'browser' })
    const { code } = (await bundle.generate({})).output[0]
    expect(code).toContain('/transfer/query/orders')
    const others = [
      'last-event-id',
      '/wallets',
      '/transfer/command',
      '/auth/login',
      '/secure-channel',
      '/passkey',
      'new F(',
      'RSA-OAEP',
    ]
    for (const other of [...others, 'WebAuthn']) expect(code).not.toContain(other)
  })
})

describe.each(names)('the entry %s', (name) => {
  test.each(kinds)('%s: has every operation of its portal, with its request and its policy', async (kind) => {
    const operations = await operationsIn(kind + name)
    expect(Object.keys(operations).sort()).toEqual(ofPortal[name].map((method) => method.name).sort())
    for (const { name: method, operation, chainId } of ofPortal[name]) {
      const { retry, upload, reply, body, ...facts } = operations[method] ?? expect.fail(method)
      expect({ ...operation, chains: [chainId satisfies ChainId] }).toMatchObject(facts)
      expect([typeof reply, body === 'json'].join()).toBe(
        [typeof operation.reply, typeof operation.body === 'object'].join(),
      )
      expect(retry !== undefined).toBe(operation.policy.idempotent || operation.policy.rate === 'refresh')
      expect(upload !== undefined).toBe(operation.body === 'multipart')
    }
  })

  test('accepts and rejects the same replies as the contract, and drops the same fields', async () => {
    const operations = await operationsIn(name)
    const recorded: Record<string, { reply?: string | { data?: unknown } }> = examples.operations
    let count = 0
    for (const { name: method, operation } of ofPortal[name]) {
      const check = operations[method]?.reply
      if (typeof operation.reply === 'string' || typeof check !== 'object') continue
      for (const data of variants(dataOf(recorded[operation.id]?.reply))) {
        const { success, data: expected } = operation.reply.safeParse(data)
        const found = check.safeParse(data)
        expect([method, data, found.success && found.data]).toEqual([method, data, success && expected])
        count += 1
      }
    }
    expect(count).toBeGreaterThan(1_000)
  })
})

function dataOf(reply: string | { data?: unknown } | undefined): unknown {
  return typeof reply === 'object' ? (reply.data ?? null) : null
}

/** The data, and copies with one value replaced or removed. */
function variants(data: unknown): unknown[] {
  const others = [null, 1, 1.5, 'x', true, {}, [], undefined]
  if (typeof data !== 'object' || data === null) return [data, ...others]
  const with_ = (key: string, value: unknown): unknown =>
    Array.isArray(data) ? data.with(Number(key), value) : { ...data, [key]: value }
  const children = Object.entries(data).slice(0, 40)
  return [
    data,
    ...others,
    ...(Array.isArray(data) ? [] : [{ ...data, unknown: 1 }]),
    ...children.flatMap(([key, value]) => variants(value).map((each) => with_(key, each))),
  ]
}

const wallets = 'GET /web/v1/consumer/wallets'
const transfers = 'POST /web/v1/consumer/transfer/command/create'
const auth = '/web/v1/consumer/auth'
const account = '01933b6e-7c1a-7e0a-8f35-00000000000a'
const signedIn = {
  signedIn: true,
  accountBizId: account,
  portal: 'CONSUMER',
  idleExpiresAt: '2100-01-01T00:00:00.000Z',
  expiresAt: '2100-01-01T00:00:00.000Z',
  steppedUpUntil: null,
  workspaceBizId: null,
  permissionCodes: [],
}
const script: Record<string, Step | Step[]> = {
  [`POST ${auth}/login/initiate`]: ok(begun),
  [`POST ${auth}/login/mfa/send`]: ok(sent),
  [`POST ${auth}/login/complete`]: ok(completed),
  [`POST ${auth}/browser-session`]: ok({ sessionId: 's', isNewDevice: true, expiresIn: 43_200, idleExpiresIn: 1_800 }),
  [`GET ${auth}/browser-session`]: ok(signedIn),
  [`POST ${auth}/browser-session/end`]: ok({ success: true, terminatedSessions: 1 }),
  [`POST ${auth}/logout`]: ok({ success: true, terminatedSessions: 1 }),
  [`POST ${auth}/token/refresh`]: ok(pair('2')),
  [wallets]: ok([wallet]),
}
const credentials = { email: 'owner@demo.test', password: 'Portico-demo-2026', code: () => '123456' }
const base = (baseUrl: string) => ({ baseUrl, accessCode: 'consumer-dev', retry: { firstDelayMs: 1 } })

const eventOf = (id: string) => ({
  ...{ specversion: '1.0', id, source: 'https://portal.example', type: 'transfer.completed', subject: wallet.bizId },
  ...{ time: '2026-11-29T00:00:00.000Z', datacontenttype: 'application/json', data: {} },
})

describe.each(kinds)('a client of the entry %sconsumer', (kind) => {
  test('signs in with tokens, renews them once, and signs out', async () => {
    const [first, second] = [refuse(401, 'ACCESS.TOKEN_INVALID'), ok([wallet])]
    gateway = await scriptedGateway({ ...script, [wallets]: [first, second] })
    const { createClient, tokenSession, signIn, listWallets } = await entry(kind)
    const client = createClient({ ...base(gateway.baseUrl), session: tokenSession(), seal: 'none' })
    await signIn(client, credentials)
    expect(await client.call(listWallets)).toEqual([wallet])
    expect(gateway.to('/wallets').map(({ headers }) => headers.authorization)).toEqual([
      'Bearer access-1',
      'Bearer access-2',
    ])
    await client.signOut()
    expect(await client.session.tokens()).toBeNull()
  })

  test('signs in with a cookie: no token is sent or stored', async () => {
    gateway = await scriptedGateway(script)
    const { createClient, cookieSession, signIn, listWallets } = await entry(kind)
    const client = createClient({ ...base(gateway.baseUrl), session: cookieSession(), seal: 'none' })
    const started = await signIn(client, credentials)
    expect(started).not.toHaveProperty('accessToken')
    await client.with({ workspaceId: wallet.bizId, locale: 'ja' }).call(listWallets)
    const [{ headers } = expect.fail()] = gateway.to('/wallets')
    expect(headers).toMatchObject({ 'x-workspace-id': wallet.bizId, 'x-locale': 'ja' })
    expect(headers.authorization).toBeUndefined()
    await client.signOut()
  })

  test('repeats a money command with the same id, and after a step-up', async () => {
    gateway = await scriptedGateway({
      ...script,
      [transfers]: [hangUp, refuse(403, 'ACCESS.STEP_UP_REQUIRED'), ok(order)],
      'GET /web/v1/consumer/security/mfa': ok([]),
      'POST /web/v1/consumer/security/step-up/send': ok(sent),
      'POST /web/v1/consumer/security/step-up': ok({ success: true, expiresIn: 300 }),
    })
    const { createClient, tokenSession, stepUpByCode, createTransfer } = await entry(kind)
    const code = vi.fn(() => '123456')
    const onStepUp = stepUpByCode({ code })
    const client = createClient({ ...base(gateway.baseUrl), session: tokenSession(), seal: 'none', onStepUp })
    await client.session.adopt(pair('1'))
    expect(await client.call(createTransfer, { body: transfer })).toMatchObject({ orderNo: order.orderNo })
    expect(code).toHaveBeenCalledOnce()
    expect(new Set(gateway.to('/create').map(({ headers }) => headers['x-request-id'])).size).toBe(1)
    expect(gateway.to('/step-up')[0]?.body).toMatchObject({ purpose: { operationId: 'transfers.create', ...transfer } })
  })

  test('follows the events of a workspace: the feed, and then the stream', async () => {
    gateway = await scriptedGateway({
      ...script,
      'GET /web/v1/consumer/events': ok({ events: [eventOf('1')], nextCursor: '1', hasMore: false, latestCursor: '1' }),
      'GET /web/v1/consumer/events/stream': async (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(`id: 2\ndata: ${JSON.stringify(eventOf('2'))}\n\n`)
      },
    })
    const { createClient, tokenSession, followEvents } = await entry(kind)
    const client = createClient({ ...base(gateway.baseUrl), session: tokenSession(), seal: 'none' })
    await client.session.adopt(pair('1'))
    const found: string[] = []
    for await (const { event, cursor } of followEvents(client.with({ workspaceId: wallet.bizId }), { after: '0' })) {
      found.push(`${event.id} ${cursor}`)
      if (found.length === 2) break
    }
    expect(found).toEqual(['1 1', '2 2'])
    expect(gateway.to('/events/stream')[0]?.headers).toMatchObject({
      'last-event-id': '1',
      'x-workspace-id': wallet.bizId,
    })
  })

  test('never sends unsealed what `seal` demands: it throws, and sends nothing', async () => {
    gateway = await scriptedGateway(script)
    const { createClient, tokenSession, signIn, listWallets, secureChannel } = await entry(kind)
    const options = { ...base(gateway.baseUrl), session: tokenSession() }
    // A page in JavaScript.
    for (const seal of [undefined, 'all', 'sensitive'])
      expect(() => Reflect.apply(createClient, null, [{ ...options, seal }])).toThrow(
        "pass secureChannel, or seal: 'none'",
      )
    const client = createClient({ ...options, seal: 'none' })
    await client.session.adopt(pair('1'))
    await expect(client.call(listWallets, { seal: true })).rejects.toThrow('this client has no secure channel')
    expect(gateway.seen).toEqual([])
    const sealing = createClient({ ...options, secureChannel: secureChannel() })
    await expect(signIn(sealing, credentials)).rejects.toHaveProperty('status', 404)
    expect(gateway.seen.map(({ path }) => path)).toEqual(['/web/v1/consumer/secure-channel/public-key'])
  })

  test('rejects an operation of the other portal with a TypeError, and sends nothing', async () => {
    gateway = await scriptedGateway(script)
    const { createClient, tokenSession } = await entry(kind)
    const client = createClient({ ...base(gateway.baseUrl), session: tokenSession(), seal: 'none' })
    const { approveTransfer } = await operationsIn(`${kind}system`)
    await expect(client.call(approveTransfer ?? expect.fail(), {})).rejects.toThrow('is not served to this client')
    expect(gateway.seen).toEqual([])
  })
})

test.each([
  ['', { code: 'CLIENT.INVALID_REPLY' }],
  ['unchecked/', undefined],
] as const)('%sconsumer: a reply that does not match the schema', async (kind, error) => {
  gateway = await scriptedGateway({ ...script, [wallets]: ok([{ ...wallet, bizId: 1 }]) })
  const { createClient, tokenSession, listWallets } = await entry(kind)
  const client = createClient({ ...base(gateway.baseUrl), session: tokenSession(), seal: 'none' })
  const call = client.call(listWallets)
  if (error) await expect(call).rejects.toMatchObject(error)
  else expect(await call).toEqual([{ ...wallet, bizId: 1 }])
})
