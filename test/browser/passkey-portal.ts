import { createServer, type Server } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { codeIn } from '../harness/sign-in.ts'
import { bundleClient, hostApp, launchChromium, openPage } from './chromium.ts'
import { addAuthenticator, type VirtualAuthenticator } from './virtual-authenticator.ts'

declare global {
  var codeFor: (template: 'login-code' | 'step-up-code') => Promise<string>
  var asks: string[]
  var user: ReturnType<typeof createUser>
}

export const passkeyModes = ['tokens', 'cookie'] as const
type Mode = (typeof passkeyModes)[number]

export const email = 'owner@demo.test'

interface OpenedPage {
  page: Page
  device: VirtualAuthenticator
  complaints: string[]
}

/** A gateway on localhost with passkeys, and pages that use them. */
export interface PasskeyPortal {
  gateway: string
  /** Another origin of `passkeys.origins`. */
  listed: string
  /** An origin that may call the gateway, but not use passkeys. */
  unlisted: string
  newContext(): Promise<BrowserContext>
  /** With `globalThis.user`, and an authenticator that confirms each request. */
  open(context: BrowserContext, origin?: string): Promise<OpenedPage>
  stop(): Promise<void>
}

export async function startPasskeyPortal(mode: Mode): Promise<PasskeyPortal> {
  const port = await freePort()
  const gateway = `http://localhost:${port}`
  const [listed, unlisted] = [`http://localhost:${await freePort()}`, `http://localhost:${await freePort()}`]
  const portico: Portico = await startPortico({
    adjust: (settings) => {
      settings.listen.port = port
      settings.publicUrl = gateway
      settings.login.resendMs = 0
      settings.mfa.binding = 'purpose'
      settings.money.stepUpAbove = { currency: 'USD', amount: '1.00', apiKeys: 'refuse' }
      const { CONSUMER } = settings.portals
      CONSUMER.origins = [listed, unlisted]
      const origins = [gateway, listed]
      CONSUMER.passkeys = { rpId: 'localhost', origins, userVerification: 'required', attestation: 'none' }
    },
  })
  const script = await bundleClient()
  // Chromium lets only pages of a real loopback server call another one.
  const servers = [listed, unlisted].map((origin) => servePage(Number(new URL(origin).port), script, gateway))
  const isElsewhere = (origin: string) => origin === listed || origin === unlisted
  const browser: Browser = await launchChromium()
  return {
    gateway,
    listed,
    unlisted,
    newContext: async () => {
      const context = await browser.newContext()
      // Pages of other origins may not send these.
      await context.route(`${gateway}/web/**`, (route) =>
        route.continue({ headers: { ...route.request().headers(), ...edgeHeaders } }),
      )
      await context.exposeFunction('codeFor', async (template: 'login-code' | 'step-up-code') =>
        codeIn((await portico.mailTo(email, template)).text),
      )
      return context
    },
    open: async (context, origin = gateway) => {
      const { page, complaints } = await openPage(
        context,
        isElsewhere(origin) ? `${origin}/app` : await hostApp(context, origin, script),
      )
      await page.evaluate(userScript(mode, gateway))
      return { page, complaints, device: await addAuthenticator(page) }
    },
    stop: async () => {
      await browser.close()
      for (const server of servers) server.close()
      await portico.stop()
    },
  }
}

/** Defines `globalThis.user`. */
export function userScript(mode: Mode, gateway: string): string {
  return `globalThis.user = (${createUser.toString()})(${JSON.stringify(mode)}, ${JSON.stringify(gateway)})`
}

/** Signs in by a mailed code, and registers the only passkey of the account. Returns its id. */
export function registerPasskey(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const { client, signIn } = globalThis.user
    await signIn({ mfaMethod: 'EMAIL' })
    for (const { passkeyBizId } of await client.listPasskeys()) await client.removePasskey(passkeyBizId)
    const { passkeyBizId } = await client.addPasskey({ name: 'Laptop' })
    globalThis.asks.length = 0
    return passkeyBizId
  })
}

function servePage(port: number, script: string, gateway: string): Server {
  const policy = `default-src 'none'; script-src 'self'; connect-src ${gateway}; frame-src ${gateway}`
  return createServer(({ url }, response) => {
    const isScript = url === '/app.js'
    const type = isScript ? 'text/javascript' : 'text/html'
    response.writeHead(200, { 'content-type': type, 'content-security-policy': policy })
    response.end(isScript ? script : '<!doctype html><meta charset="utf-8"><script src="/app.js"></script>')
  }).listen(port, 'localhost')
}

const edgeHeaders = {
  'x-forwarded-proto': 'https',
  'cf-connecting-ip': '203.0.113.7',
  'cf-ray': '8f2a1b3c4d5e6f70-FRA',
  'cf-ipcountry': 'DE',
}

/** Runs in the page. */
function createUser(mode: Mode, baseUrl: string) {
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
  const verify = (credential: Awaited<ReturnType<typeof sign>>) =>
    codeOf(
      mode === 'cookie'
        ? plain.startWithPasskey({ body: { credential } })
        : plain.verifyPasskey({ body: { credential } }),
    )
  return { client, plain, signIn, codeOf, sign, verify }
}
