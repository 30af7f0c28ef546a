import './zod-config.ts'

import { refreshToken } from '../identity/login/contract.ts'
import type { Locale, Portal } from '../kernel/index.ts'
import { createChannelCache } from './channel/channel.ts'
import { closeChannel, openChannel } from './channel/handshake.ts'
import { buildSocketProtocols, type SocketOptions } from './headers.ts'
import type { ApiMethods, ConsumerMethods, SystemMethods } from './methods.ts'
import { type CallerPorts, createMethods, GatewayCaller } from './operation-caller.ts'
import type { OperationCaller, OperationsOf } from './operation-types.ts'
import { type ApiClientOptions, type ClientOptions, resolveOptions, type SessionMode } from './options.ts'
import { listRoutes, portalChains } from './routes.ts'
import { type CookieSession, CookieSessions } from './session/cookie-session.ts'
import { createClientHash, createTokenStore } from './session/credentials.ts'
import { type ClientSession, createSession } from './session/session.ts'
import {
  type SignedIn,
  type SignIn,
  type StartedBrowserSession,
  signIn,
  signInByCookie,
  signOut,
} from './session/sign-in.ts'
import { confirmCall } from './session/step-up.ts'
import { memoryStorage, pageStorage, withMemoryFallback } from './session/storage.ts'
import { createTabLock } from './session/tab-lock.ts'
import { createTransport } from './transport.ts'

export interface ClientFrame<M extends SessionMode = 'tokens'> {
  /** Signs in. Stores the tokens, which the client renews, or has the gateway set the cookie. */
  signIn(input: SignIn): Promise<M extends 'cookie' ? StartedBrowserSession : SignedIn>
  signOut(): Promise<void>
  /** Closes the secure channel. The user remains signed in. */
  close(): Promise<void>
  readonly session: M extends 'cookie' ? CookieSession : ClientSession
  /** Tokens and channel sessions are bound to this X-Client-Hash. */
  clientHash(): Promise<string>
  /**
   * Returns the protocols for `new WebSocket(url, protocols)`, which carry headers and a fresh token. Call it for each
   * handshake.
   */
  socketProtocols(options?: SocketOptions): Promise<string[]>
  /** Calls an operation by its declaration. */
  readonly answer: OperationCaller['answer']
}

/** Common to the calls of a client. */
export interface ClientView {
  locale?: Locale
  /** Default of `workspaceId` in calls. */
  workspaceId?: string
}

interface MethodsByPortal {
  CONSUMER: ConsumerMethods
  SYSTEM: SystemMethods
}

/** The methods of a portal and of additional contract modules. */
export type Operations<P extends Portal, Added extends readonly object[] = []> = MethodsByPortal[P] &
  OperationsOf<(typeof portalChains)[P][number], Added[number]>

export type Client<
  P extends Portal,
  Added extends readonly object[] = [],
  M extends SessionMode = 'tokens',
> = Operations<P, Added> &
  ClientFrame<M> & {
    /** Returns a client with the same sign-in, and another language or default workspace. */
    with(view: ClientView): Client<P, Added, M>
  }

/**
 * Creates the client of one portal. A call rejects with a PorticoError, its signal's reason, or a TypeError for an
 * invalid request. A client has one sign-in, so servers create one per user.
 */
export function createClient<
  const P extends Portal,
  const Added extends readonly object[] = [],
  const M extends SessionMode = 'tokens',
>(options: ClientOptions<P, Added, M>): Client<P, Added, M> {
  const settings = resolveOptions(options)
  const { now = Date.now, onSignedOut = () => undefined, onStepUp } = options
  const isCookie = options.session === 'cookie'
  const given = options.storage ?? (isCookie ? pageStorage() : undefined)
  const storage = given ? withMemoryFallback(given) : memoryStorage()
  const lock = createTabLock(given)
  const key = (name: string): string => `portico:${options.portal}:${name}`
  const store = createTokenStore(storage, key('tokens'), now)
  const ownHash = createClientHash(options.clientHash ?? null, storage, key('client-hash'), lock)
  const clientHash = async (): Promise<string> => (await store.read())?.clientHash ?? ownHash()
  const cookie = isCookie
    ? new CookieSessions({ caller: () => caller, storage, key: key('account'), onSignedOut })
    : null
  const routes = listRoutes(portalChains[options.portal], options.contract)
  const ports: CallerPorts = {
    settings,
    routes,
    transport: createTransport(settings),
    clientHash,
    tokens: () =>
      cookie ?? {
        current: async () => (await session.fresh())?.accessToken ?? null,
        replace: async (accessToken) => accessToken !== null && (await session.renew({ accessToken })) !== null,
      },
    channels: () => channels,
    stepUp: null,
  }
  const caller: OperationCaller = new GatewayCaller(ports)
  const channels = createChannelCache((hash) => openChannel(caller, hash, now), now)
  const session = createSession({
    store,
    clientHash,
    lock,
    lockName: key('refresh'),
    now,
    refresh: async (token) => (await caller.answer(refreshToken, { body: { refreshToken: token } })).data,
    onSignedOut,
  })
  const build = (view: CallerPorts): Client<P, Added, M> => {
    // The mails of a sign-in and of a step-up are in the language of the view.
    const own: OperationCaller = new GatewayCaller({
      ...view,
      stepUp: onStepUp ? (operation, args) => confirmCall(own, onStepUp, operation, args) : null,
    })
    // The mode of the options determines the types of `signIn` and `session`.
    const frame = {
      signIn: (input: SignIn) => (cookie ? signInByCookie(own, cookie, input) : signIn(own, session, input)),
      signOut: () => (cookie ? cookie.end() : signOut(caller, session)),
      close: async () => {
        const channel = await channels.take()
        if (channel) await closeChannel(caller, channel)
      },
      session: cookie ?? session,
      clientHash,
      socketProtocols: async ({ workspaceId = view.workspaceId, ...socket }: SocketOptions = {}) => {
        const accessToken = cookie ? await cookie.current() : ((await session.fresh())?.accessToken ?? null)
        const named = workspaceId === undefined ? socket : { ...socket, workspaceId }
        return buildSocketProtocols(view.settings, { clientHash: await clientHash(), accessToken }, named)
      },
      answer: own.answer,
    } as ClientFrame<M>
    return Object.assign(createMethods<Operations<P, Added>>(routes, own), frame, {
      with: ({ locale = view.settings.locale, workspaceId = view.workspaceId }: ClientView) =>
        build({ ...view, settings: { ...view.settings, locale }, workspaceId }),
    })
  }
  return build(ports)
}

/** The methods of the api chain, and `answer`. */
export type ApiClient<Added extends readonly object[] = []> = ApiMethods &
  OperationsOf<'api', Added[number]> &
  OperationCaller<'api'>

/** Creates the client of the api chain, for machines with an API key. */
export function createApiClient<const Added extends readonly object[] = []>(
  options: ApiClientOptions<Added>,
): ApiClient<Added> {
  const settings = resolveOptions({ ...options, seal: 'none' })
  const routes = listRoutes(['api'], options.contract)
  const caller: OperationCaller<'api'> = new GatewayCaller<'api'>({
    settings,
    routes,
    transport: createTransport(settings),
    clientHash: async () => null,
    tokens: () => ({ current: async () => options.apiKey, replace: async () => false }),
    channels: () => null,
    stepUp: null,
  })
  return Object.assign(createMethods<ApiMethods & OperationsOf<'api', Added[number]>>(routes, caller), {
    answer: caller.answer,
  })
}
