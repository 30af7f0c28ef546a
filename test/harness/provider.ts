import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import {
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose'
import Provider from 'oidc-provider'

/* A real OpenID Connect provider in this process, which can misbehave. */

export interface PersonAtProvider {
  sub: string
  claims?: Record<string, unknown>
  acr?: string
  amr?: string[]
}

type Answer = 'real' | 'slow' | 'down' | 'redirect'

export interface TestProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** Who signs in at the next visit. */
  person: PersonAtProvider
  /** Changes the ID token of each reply, or returns a whole one. */
  tamper: ((claims: JWTPayload, sign: Sign) => Promise<string> | JWTPayload) | null
  /** Changes a JSON reply of a path. */
  rewrite: ((path: string, body: Record<string, unknown>) => Record<string, unknown>) | null
  answer: Answer
  /** Of the rewritten replies. */
  status: number | null
  /** Headers and claims of private_key_jwt. */
  assertions: { header: JWTHeaderParameters; claims: JWTPayload }[]
  /** Paths in the order of the requests. */
  requests: string[]
  /** Visits an authorization URL with a new browser, and returns the parameters of the callback. */
  visit(url: string, browser?: Browser): Promise<URLSearchParams>
  rotateKeys(): Promise<void>
  sign: Sign
  close(): Promise<void>
}

export type Sign = (claims: JWTPayload, header?: Record<string, unknown>) => Promise<string>

/** Cookies at the provider by name. */
export type Browser = Map<string, string>

interface Options {
  redirectUris: string[]
  par?: boolean
  tls?: { key: Buffer; cert: Buffer }
  clientId?: string
  /** A public key for private_key_jwt. */
  clientKey?: object
  /** Of private_key_jwt. */
  clientAlgorithms?: string[]
}

const clientSecret = 'a-secret-of-at-least-thirty-two-characters'

export async function startProvider(options: Options): Promise<TestProvider> {
  const { redirectUris, par = false, tls, clientId = 'portico', clientKey, clientAlgorithms } = options
  let keys = await newKeys()
  let handle = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(503).end()
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    at.requests.push(request.url?.split('?')[0] ?? '')
    if (at.answer === 'slow') return
    if (at.answer === 'down') return void request.socket.destroy()
    if (at.answer === 'redirect') return void response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
    handle(request, response)
  }
  const server: Server = tls ? createTlsServer(tls, listener) : createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const issuer = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`

  const build = (): void => {
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          ...(clientKey
            ? { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [clientKey] } }
            : { client_secret: clientSecret }),
          redirect_uris: redirectUris,
          post_logout_redirect_uris: ['http://127.0.0.1:8080/'],
          response_types: ['code'],
          grant_types: ['authorization_code'],
        },
      ],
      jwks: { keys: [{ ...keys.privateJwk, kid: keys.kid, use: 'sig', alg: 'RS256' }] },
      cookies: { keys: ['test'] },
      conformIdTokenClaims: false,
      assertJwtClientAuthClaimsAndHeader: (_ctx: unknown, claims: JWTPayload, header: JWTHeaderParameters) =>
        void at.assertions.push({ header, claims }),
      ...(clientAlgorithms && { enabledJWA: { clientAuthSigningAlgValues: clientAlgorithms } }),
      acrValues: ['mfa', 'pwd'],
      claims: {
        openid: ['sub', 'groups', 'sid', 'acr', 'amr', 'auth_time'],
        email: ['email', 'email_verified'],
        profile: ['name', 'oid'],
      },
      features: {
        devInteractions: { enabled: false },
        rpInitiatedLogout: { enabled: true },
        backchannelLogout: { enabled: true },
        pushedAuthorizationRequests: { enabled: par },
      },
      interactions: { url: (_ctx: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
      findAccount: (_ctx: unknown, sub: string) => ({
        accountId: sub,
        claims: () => ({ sub, ...at.person.claims }),
      }),
      loadExistingGrant: async (ctx: { oidc: { client: { clientId: string }; session: { accountId: string } } }) => {
        const grant = new provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId })
        grant.addOIDCScope('openid profile email')
        await grant.save()
        return grant
      },
      pkce: { required: () => true },
      ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 300, Interaction: 60, Session: 600, Grant: 600 },
    })
    const serve = provider.callback()
    handle = (request, response) => {
      if (request.url?.startsWith('/interaction/')) {
        const { sub: accountId, acr, amr } = at.person
        const login = { accountId, ...(acr && { acr }), ...(amr && { amr }) }
        void provider.interactionFinished(request, response, { login })
        return
      }
      intercept(request, response, async (path, body) => {
        if (at.rewrite && at.status !== null) response.statusCode = at.status
        const changed = at.rewrite?.(path, body) ?? body
        const { id_token: idToken } = changed
        if (at.tamper === null || typeof idToken !== 'string') return changed
        const result = await at.tamper(decodeJwt(idToken), at.sign)
        return { ...changed, id_token: typeof result === 'string' ? result : await at.sign(result) }
      })
      void serve(request, response)
    }
  }

  const at: TestProvider = {
    ...{
      issuer,
      clientId,
      clientSecret,
      tamper: null,
      rewrite: null,
      answer: 'real',
      status: null,
      requests: [],
      assertions: [],
    },
    person: { sub: 'person-1' },
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: keys.kid, ...header }).sign(keys.privateKey),
    visit: (url, browser = new Map()) => visit(url, browser),
    rotateKeys: async () => {
      keys = await newKeys()
      build()
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  build()
  return at
}

export function headerOf(token: string) {
  return decodeProtectedHeader(token)
}

async function newKeys() {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { privateKey, privateJwk: await exportJWK(privateKey), kid: `key-${crypto.randomUUID()}` }
}

/** Lets `change` replace the JSON of a reply. */
function intercept(
  request: IncomingMessage,
  response: ServerResponse,
  change: (path: string, body: Record<string, unknown>) => Promise<Record<string, unknown>>,
): void {
  const end = response.end.bind(response)
  const path = request.url?.split('?')[0] ?? ''
  response.end = ((chunk?: unknown) => {
    const type = String(response.getHeader('content-type') ?? '')
    if (!type.includes('json') || chunk === undefined) return end(chunk as string)
    change(path, JSON.parse(String(chunk))).then(
      (body) => {
        const text = JSON.stringify(body)
        if (!response.headersSent) response.setHeader('content-length', Buffer.byteLength(text))
        end(text)
      },
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    )
    return response
  }) as ServerResponse['end']
}

/** Follows redirects of the provider with the cookies of a browser. */
async function visit(start: string, browser: Browser): Promise<URLSearchParams> {
  let url = start
  for (let hops = 0; hops < 10; hops += 1) {
    const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const each of response.headers.getSetCookie()) {
      const [pair = ''] = each.split(';')
      const [name = '', ...value] = pair.split('=')
      browser.set(name, value.join('='))
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`no redirect from ${url}: ${response.status} ${await response.text()}`)
    const next = new URL(location, url)
    if (next.origin !== new URL(start).origin) return next.searchParams
    url = next.href
  }
  throw new Error('too many redirects')
}
