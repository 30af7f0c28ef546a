import type { IdentityPorts, IdentitySettings, ProviderSettings } from '../../../src/identity/index.ts'
import * as auth from '../../../src/identity/login/contract.ts'
import type { Portal, RequestContext } from '../../../src/kernel/index.ts'
import { toInstant } from '../../../src/kernel/index.ts'
import { type Browser, startProvider, type TestProvider } from '../../harness/provider.ts'
import { call, createRequestContext, type Harness, harness } from '../harness.ts'

export const redirectUri = 'http://127.0.0.1:8080/identity-providers/system/company/callback'
export const otherRedirectUri = 'http://127.0.0.1:8080/identity-providers/system/other/callback'
const page = 'http://127.0.0.1:8080/sign-in/provider'

export function settingsFor(provider: TestProvider, more: Partial<ProviderSettings> = {}): ProviderSettings {
  const { issuer, clientId, clientSecret } = provider
  return {
    ...{ id: 'company', name: 'Company', portal: 'SYSTEM', issuer, clientId, clientSecret, privateKey: null },
    scopes: ['openid', 'profile', 'email'],
    claims: {
      ...{ email: 'email', emailVerified: 'email_verified', name: 'name', groups: 'groups', externalId: 'oid' },
    },
    ...{ provisioning: 'create', groups: null, trustsMfa: ['mfa'], stepUp: null, passwordSignIn: false },
    ...{ redirectUri, pages: [page] },
    ...more,
  }
}

export interface ProviderWorld {
  at: Harness
  provider: TestProvider
  /** Changes the settings of the identity that later calls use. */
  begin(more?: Begin): Promise<{ sessionId: string; authorizationUrl: string; reply: URLSearchParams }>
  complete(started: Reply, more?: Partial<RequestContext>): ReturnType<typeof completeOf>
  signIn(more?: Begin): ReturnType<typeof completeOf>
  close(): Promise<void>
}

interface Begin {
  context?: Partial<RequestContext>
  providerId?: string
  returnTo?: string
  browser?: Browser
  /** Whether the person signs in at the provider. */
  visits?: boolean
}

interface Reply {
  sessionId: string
  reply: URLSearchParams
}

/** With one provider of the portal SYSTEM, for a person with a verified address and a trusted second factor. */
export async function providerWorld(
  more: Partial<ProviderSettings> = {},
  changePorts: (ports: IdentityPorts) => void = () => {},
  change: (settings: IdentitySettings) => void = () => {},
): Promise<ProviderWorld> {
  const provider = await startProvider({ redirectUris: [redirectUri] })
  provider.person = personOf('one@company.test')
  const at = await harness((settings) => {
    const own = settingsFor(provider, more)
    const rules = settings.portals[own.portal] ?? { ...settings.portals.CONSUMER }
    settings.portals[own.portal] = { ...rules, providers: [own] }
    change(settings)
  }, changePorts)
  at.clock.set(toInstant(Date.now()))
  const portal: Portal = more.portal ?? 'SYSTEM'
  const contextOf = (context: Partial<RequestContext> = {}) => createRequestContext(at.clock, { portal, ...context })
  const begin: ProviderWorld['begin'] = async ({
    context,
    providerId = 'company',
    returnTo,
    browser,
    visits = true,
  } = {}) => {
    const body = { providerId, ...(returnTo !== undefined && { returnTo }) }
    const started = await call(at.identity, auth.initiateProviderLogin, contextOf(context), body)
    const reply = visits ? await provider.visit(started.authorizationUrl, browser) : new URLSearchParams()
    return { ...started, reply }
  }
  const complete: ProviderWorld['complete'] = (started, context) => completeOf(at, started, contextOf(context))
  return {
    ...{ at, provider, begin, complete },
    signIn: async (more) => complete(await begin(more), more?.context),
    close: async () => {
      await at.close()
      await provider.close()
    },
  }
}

export function personOf(email: string, more: Record<string, unknown> = {}, sub = `sub of ${email}`) {
  return { sub, acr: 'mfa', amr: ['pwd'], claims: { email, email_verified: true, name: 'Person One', ...more } }
}

export function replyOf({ sessionId, reply }: Reply) {
  const iss = reply.get('iss')
  return { sessionId, code: reply.get('code'), state: reply.get('state'), ...(iss !== null && { iss }) }
}

function completeOf(at: Harness, started: Reply, context: RequestContext) {
  return call(at.identity, auth.completeProviderLogin, context, replyOf(started))
}
