import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { codeIn } from '../harness/sign-in.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage } from './chromium.ts'
import { addAuthenticator, type VirtualAuthenticator } from './virtual-authenticator.ts'

declare global {
  var codeFor: (template: 'login-code' | 'step-up-code') => Promise<string>
  var asks: string[]
  var user: ReturnType<typeof createUser>
}

const { mainUsd } = developmentIds
const email = 'owner@demo.test'

/** Runs in the page. */
function createUser(mode: 'cookie' | 'tokens', baseUrl: string) {
  globalThis.asks = []
  const base = { baseUrl, portal: 'CONSUMER', accessCode: 'consumer-dev', storage: localStorage } as const
  const code = ({ operationId }: { operationId: string }) => {
    globalThis.asks.push(operationId)
    return globalThis.codeFor('step-up-code')
  }
  const options = { ...base, passkeys: globalThis.portico.webAuthn(), onStepUp: { code } }
  const create = globalThis.portico.createClient
  const client = mode === 'cookie' ? create({ ...options, session: 'cookie' }) : create(options)
  /** Has the same session, and neither passkeys nor step-ups. */
  const plain = mode === 'cookie' ? create({ ...base, session: 'cookie' }) : create(base)
  const signIn = (how: { mfaMethod?: 'EMAIL' } = {}) =>
    client.signIn({
      email: 'owner@demo.test',
      password: 'Portico-demo-2026',
      ...how,
      code: () => {
        globalThis.asks.push('sign-in')
        return globalThis.codeFor('login-code')
      },
    })
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'done',
      (error: unknown) => (error instanceof globalThis.portico.PorticoError ? error.code : String(error)),
    )
  /** As another client could use the browser. */
  const sign = async (
    { challenge, ...options }: Awaited<ReturnType<typeof client.createPasskeyRequest>>,
    userVerification: UserVerificationRequirement = 'required',
  ) => {
    const json = { ...options, challenge, userVerification }
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json)
    const credential = await navigator.credentials.get({ publicKey })
    if (!(credential instanceof PublicKeyCredential)) throw new TypeError('no credential')
    const { id, rawId, response } = credential.toJSON()
    if (!('signature' in response)) throw new TypeError('not a signature')
    const { clientDataJSON, authenticatorData, signature, userHandle } = response
    return {
      id,
      rawId,
      type: 'public-key',
      response: { clientDataJSON, authenticatorData, signature, userHandle },
    } as const
  }
  const verify = (credential: Awaited<ReturnType<typeof sign>>) => codeOf(plain.verifyPasskey({ body: { credential } }))
  return { client, plain, signIn, codeOf, sign, verify }
}

describe.each(['tokens', 'cookie'] as const)(
  'passkeys in Chromium, by %s',
  needs(chromiumPath, 'Chromium is not installed'),
  (mode) => {
    let browser: Browser
    let context: BrowserContext
    let script: string
    let portico: Portico
    let gateway: string
    let listed: string
    let unlisted: string
    beforeAll(async () => {
      const ports = [await freePort(), await freePort(), await freePort()]
      ;[gateway = '', listed = '', unlisted = ''] = ports.map((port) => `http://localhost:${port}`)
      portico = await startPortico({
        adjust: (settings) => {
          settings.listen.port = Number(ports[0])
          settings.publicUrl = gateway
          settings.login.resendMs = 0
          settings.mfa.binding = 'purpose'
          settings.money.stepUpAbove = { currency: 'USD', amount: '1.00', apiKeys: 'refuse' }
          const { CONSUMER } = settings.portals
          CONSUMER.origins = [listed, unlisted]
          CONSUMER.passkeys = {
            rpId: 'localhost',
            origins: [gateway, listed],
            userVerification: 'required',
            attestation: 'none',
          }
        },
      })
      script = await bundleClient()
      browser = await launchChromium()
    })
    beforeEach(async () => {
      context = await browser.newContext()
      await context.setExtraHTTPHeaders({
        'x-forwarded-proto': 'https',
        'cf-connecting-ip': '203.0.113.7',
        'cf-ray': '8f2a1b3c4d5e6f70-FRA',
        'cf-ipcountry': 'DE',
      })
      await context.exposeFunction('codeFor', async (template: 'login-code' | 'step-up-code') =>
        codeIn((await portico.mailTo(email, template)).text),
      )
    })
    afterEach(() => context.close())
    afterAll(async () => {
      await browser?.close()
      await portico?.stop()
    })

    async function open(origin = gateway): Promise<{ page: Page; device: VirtualAuthenticator; complaints: string[] }> {
      const { page, complaints } = await openPage(context, await hostApp(context, origin, script))
      await page.evaluate(
        `globalThis.user = (${createUser.toString()})(${JSON.stringify(mode)}, ${JSON.stringify(gateway)})`,
      )
      return { page, device: await addAuthenticator(page), complaints }
    }

    /** Signs in by a mailed code, and registers the only passkey of the account. */
    async function register(page: Page): Promise<string> {
      return page.evaluate(async () => {
        const { client, signIn } = globalThis.user
        await signIn({ mfaMethod: 'EMAIL' })
        for (const { passkeyBizId } of await client.listPasskeys()) await client.removePasskey(passkeyBizId)
        const { passkeyBizId } = await client.addPasskey({ name: 'Laptop' })
        globalThis.asks.length = 0
        return passkeyBizId
      })
    }

    test('registers, signs in without a name, and asks for no code', async () => {
      const { page, device, complaints } = await open()
      const id = await register(page)
      const [credential] = await device.credentials()
      expect(credential).toMatchObject({ isResidentCredential: true, rpId: 'localhost' })
      const seen = await page.evaluate(async () => {
        const { client } = globalThis.user
        await client.signOut()
        await client.signInWithPasskey()
        const { accountEmail } = await client.readProfile()
        return { accountEmail, passkeys: await client.listPasskeys(), asks: globalThis.asks }
      })
      expect(seen).toMatchObject({
        accountEmail: email,
        passkeys: [{ passkeyBizId: id, name: 'Laptop', deviceType: 'SINGLE_DEVICE', lastUsedAt: expect.any(String) }],
        asks: [],
      })
      expect(complaints).toEqual([])
    })

    test('suggests the passkey in an input, and signs in when the user selects it', async () => {
      const { page } = await open()
      await register(page)
      const seen = await page.evaluate(async () => {
        const { client } = globalThis.user
        await client.signOut()
        document.body.innerHTML = '<input autocomplete="username webauthn">'
        const mediations: unknown[] = []
        const get = navigator.credentials.get.bind(navigator.credentials)
        navigator.credentials.get = (options) => {
          mediations.push(options?.mediation, options?.publicKey?.allowCredentials)
          return get(options)
        }
        await client.signInWithPasskey({ autofill: true })
        return [(await client.readProfile()).accountEmail, ...mediations]
      })
      expect(seen).toEqual([email, 'conditional', []])
    })

    test('ends the suggestions when another sign-in begins, or the page leaves', async () => {
      const { page, device } = await open()
      await register(page)
      await device.setPresent(false)
      const ends = await page.evaluate(async () => {
        const { client, signIn, codeOf } = globalThis.user
        document.body.innerHTML = '<input autocomplete="username webauthn">'
        const first = codeOf(client.signInWithPasskey({ autofill: true }))
        await signIn({ mfaMethod: 'EMAIL' })
        const left = new AbortController()
        const second = codeOf(client.signInWithPasskey({ autofill: true, signal: left.signal }))
        setTimeout(() => left.abort('left'))
        const ended = [await first, await second]
        Object.assign(globalThis, { third: codeOf(client.signInWithPasskey({ autofill: true })) })
        return ended
      })
      expect(ends).toEqual(['CLIENT.PASSKEY_ABORTED', 'left'])
      await device.setPresent(true)
      const last = await page.evaluate(async () => {
        const { client, codeOf } = globalThis.user
        return [await codeOf(client.signInWithPasskey()), await Reflect.get(globalThis, 'third')]
      })
      expect(last).toEqual(['done', 'CLIENT.PASSKEY_ABORTED'])
    })

    test('is the second factor after the password, and a code takes its place if the user is not verified', async () => {
      const { page, device } = await open()
      await register(page)
      const withPasskey = await page.evaluate(async () => {
        await globalThis.user.signIn()
        return [(await globalThis.user.client.readProfile()).accountEmail, ...globalThis.asks]
      })
      expect(withPasskey).toEqual([email])
      await device.setVerified(false)
      expect(
        await page.evaluate(async () => {
          await globalThis.user.signIn()
          return globalThis.asks
        }),
      ).toEqual(['sign-in'])
    })

    test('confirms exactly the amount and payee of a transfer', async () => {
      const { page } = await open()
      await register(page)
      const seen = await page.evaluate(async (sourceWalletBizId) => {
        const { client, plain, codeOf, sign } = globalThis.user
        const { bizId: workspaceId } = await client.createWorkspace({ body: { workspaceName: 'Elsewhere' } })
        const wallets = await client.listWallets({ workspaceId })
        const targetWalletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
        const body = { sourceWalletBizId, targetWalletBizId, amount: '5.00', currency: 'USD' }
        const { amount } = await client.createTransfer({ body })
        const purpose = { operationId: 'transfers.create', ...body }
        const confirm = async (signed: object, confirmed: object) => {
          const passkey = await sign(
            await plain.createStepUpPasskeyOptions({ body: { purpose: { ...purpose, ...signed } } }),
          )
          const proof = { mfaMethod: 'PASSKEY', passkey, purpose: { ...purpose, ...confirmed } } as const
          return codeOf(plain.stepUp({ body: proof }))
        }
        const changed = [
          await confirm({}, { amount: '500.00' }),
          await confirm({}, { targetWalletBizId: sourceWalletBizId }),
          await confirm({ amount: '500.00' }, {}),
          await confirm({ amount: '6.00' }, { amount: '6.00' }),
        ]
        return { amount, changed, asks: globalThis.asks }
      }, mainUsd)
      const refused = 'AUTH.PASSKEY_INVALID'
      expect(seen).toEqual({ amount: '5.00', changed: [refused, refused, refused, 'done'], asks: [] })
    })

    test('refuses a transfer of another amount than the passkey has signed', async () => {
      const { page } = await open()
      await register(page)
      const seen = await page.evaluate(async (sourceWalletBizId) => {
        const { client, plain, codeOf, sign } = globalThis.user
        const { bizId: workspaceId } = await client.createWorkspace({ body: { workspaceName: 'Elsewhere' } })
        const wallets = await client.listWallets({ workspaceId })
        const targetWalletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
        const body = { sourceWalletBizId, targetWalletBizId, amount: '7.00', currency: 'USD' }
        const purpose = { operationId: 'transfers.create', ...body }
        const passkey = await sign(await client.createStepUpPasskeyOptions({ body: { purpose } }))
        await client.stepUp({ body: { mfaMethod: 'PASSKEY', passkey, purpose } })
        const transfer = (changed: object) => codeOf(plain.createTransfer({ body: { ...body, ...changed } }))
        return [
          await transfer({ amount: '7.01' }),
          await transfer({ targetWalletBizId: sourceWalletBizId }),
          await transfer({}),
        ]
      }, mainUsd)
      expect(seen).toEqual(['ACCESS.STEP_UP_REQUIRED', expect.stringMatching(/^(ACCESS|VALIDATION)/), 'done'])
    })
  },
)
