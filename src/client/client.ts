import './zod-config.ts'

import * as browserSessions from '../identity/browser-sessions/contract.ts'
import * as login from '../identity/login/contract.ts'
import * as mfa from '../identity/mfa/contract.ts'
import * as passkeyOperations from '../identity/passkeys/contract.ts'
import * as channel from '../identity/secure-channel/contract.ts'
import type { ChainId, FixedPortal, PortalMount } from '../kernel/index.ts'
import { createSecureChannel } from './channel/handshake.ts'
import { listRoutes, type NamedRoute, routesOf } from './contract/routes.ts'
import { buildSocketProtocols, type SocketOptions } from './headers.ts'
import type { ApiMethods, ConsumerMethods, SystemApiMethods, SystemMethods } from './methods.ts'
import { createMethods, GatewayCaller } from './operation-caller.ts'
import type { OperationCaller, OperationsOf } from './operation-types.ts'
import { type ApiClientOptions, type ClientOptions, resolveOptions, type SessionMode } from './options.ts'
import type { NewPasskey, PasskeySignIn, RegisteredPasskey } from './passkeys/feature.ts'
import { assertPasskeys, createFrame, type Framed } from './portal/frame.ts'
import { retry } from './retry.ts'
import { portalChains } from './routes.ts'
import {
  cookieMode,
  lazySigner,
  type SessionFeature,
  type SignedIn,
  type StartedBrowserSession,
  tokenMode,
} from './session/modes.ts'
import { type SignIn, signIn } from './session/sign-in.ts'
import { confirmByCode } from './session/step-up.ts'
import type { PorticoEvent } from './streams/cloud-event.ts'
import { type EventsOptions, followEvents, type ReceivedEvent } from './streams/follow.ts'
import { createTransport, sendByXhr } from './transport.ts'

const parts = { upload: sendByXhr, retry }
const identity = { ...login, ...browserSessions, ...mfa, ...passkeyOperations }

interface MethodsByPortal {
  CONSUMER: ConsumerMethods
  SYSTEM: SystemMethods
}

/** The methods of a portal and of additional contract modules. */
export type Operations<P extends FixedPortal, Added extends readonly object[] = []> = MethodsByPortal[P] &
  OperationsOf<(typeof portalChains)[P][number], Added[number]>

export type Client<
  P extends FixedPortal,
  Added extends readonly object[] = [],
  M extends SessionMode = 'tokens',
> = Framed<M, Operations<P, Added> & ClientFrame<M>>

/** Members of the client besides its methods. */
export interface ClientFrame<M extends SessionMode = 'tokens'> {
  /** Signs in. Stores the tokens, which the client renews, or has the gateway set the cookie. */
  signIn(input: SignIn): Promise<M extends 'cookie' ? StartedBrowserSession : SignedIn>
  /** Signs in with a passkey, without a name and a password. Needs the option `passkeys`. */
  signInWithPasskey(input?: PasskeySignIn): Promise<M extends 'cookie' ? StartedBrowserSession : SignedIn>
  /** Registers a passkey of this device. Needs a step-up, and the option `passkeys`. */
  addPasskey(input?: NewPasskey): Promise<RegisteredPasskey>
  /** Deletes a passkey, so that the browser no longer offers it. Needs a step-up, and the option `passkeys`. */
  removePasskey(passkeyBizId: string): Promise<void>
  /**
   * Returns the protocols for `new WebSocket(url, protocols)`, which carry headers and a fresh token. Call it for each
   * handshake.
   */
  socketProtocols(options?: SocketOptions): Promise<string[]>
  /** Calls an operation by its declaration. */
  readonly answer: OperationCaller['answer']
  /**
   * Yields the events of a workspace, or for operators of all: in order, at least once. Reconnects, and renews tokens. Rejects
   * at the end of the session, and with EVENT.CURSOR_EXPIRED if `after` is no longer stored: see `oldestCursor` of the error.
   * A `break` and `signal` close the connection.
   */
  events<const Type extends PorticoEvent['type'] = PorticoEvent['type']>(
    options?: EventsOptions<Type>,
  ): AsyncGenerator<ReceivedEvent<Type>, void, undefined>
}

/**
 * Creates the client of one portal. A call rejects with a PorticoError, its signal's reason, or a TypeError for an
 * invalid request. A client has one sign-in, so servers create one per user.
 */
export function createClient<
  const P extends FixedPortal,
  const Added extends readonly object[] = [],
  const M extends SessionMode = 'tokens',
>(options: ClientOptions<P, Added, M>): Client<P, Added, M> {
  const { portal, onStepUp, storage } = options
  const routes = listRoutes(portalChains[portal], options.contract, assertMount(portal, options.mount))
  // The options determine the mode.
  const session = (
    options.session === 'cookie' ? cookieMode(identity, storage) : tokenMode(identity, storage, options.dpop)
  ) as SessionFeature<M>
  const secureChannel = createSecureChannel(channel)
  const stepUp = onStepUp ? confirmByCode(mfa, onStepUp) : null
  const passkeys = options.passkeys?.(identity) ?? null
  const frame = { portal, options, routeOf: routesOf(routes), session, secureChannel, stepUp, passkeys, parts }
  return createFrame(frame, (view) => ({
    ...createMethods<Operations<P, Added>>(routes, view.caller),
    signInWithPasskey: (input?: PasskeySignIn) => assertPasskeys(view).signIn(view.caller, view.part.complete, input),
    addPasskey: (input?: NewPasskey) => assertPasskeys(view).add(view.caller, input),
    removePasskey: (passkeyBizId: string) => assertPasskeys(view).remove(view.caller, passkeyBizId),
    answer: view.caller.answer,
    events: (options = {}) => followEvents(feedOf(routes, view.caller), options),
    signIn: (input: SignIn) => signIn(view, identity, input),
    socketProtocols: (socket?: SocketOptions) => buildSocketProtocols(view, socket),
  }))
}

/** The methods of the api chain, and `answer`. */
export type ApiClient<Added extends readonly object[] = []> = ApiMethods &
  OperationsOf<'api', Added[number]> &
  OperationCaller<'api'> &
  Pick<ClientFrame, 'events'>

/** Creates the client of the api chain, for machines with an API key. */
export function createApiClient<const Added extends readonly object[] = []>(
  options: ApiClientOptions<Added>,
): ApiClient<Added> {
  const routes = listRoutes(['api'], options.contract, options.mount ?? null)
  const caller = machineCaller<'api'>(routes, options)
  return Object.assign(createMethods<ApiMethods & OperationsOf<'api', Added[number]>>(routes, caller), {
    answer: caller.answer,
    events: <const Type extends PorticoEvent['type']>(options: EventsOptions<Type> = {}) =>
      followEvents(feedOf(routes, caller), options),
  })
}

/** The methods of the systemApi chain, and `answer`. */
export type SystemApiClient<Added extends readonly object[] = []> = SystemApiMethods &
  OperationsOf<'systemApi', Added[number]> &
  OperationCaller<'systemApi'>

/** Creates the client of the systemApi chain, for machines with an API key of operators. */
export function createSystemApiClient<const Added extends readonly object[] = []>(
  options: Omit<ApiClientOptions<Added>, 'mount'>,
): SystemApiClient<Added> {
  const routes = listRoutes(['systemApi'], options.contract)
  const caller = machineCaller<'systemApi'>(routes, options)
  return Object.assign(createMethods<SystemApiMethods & OperationsOf<'systemApi', Added[number]>>(routes, caller), {
    answer: caller.answer,
  })
}

/** Throws a TypeError for operators, whom no other portal has. */
function assertMount(portal: FixedPortal, mount: PortalMount | null = null): PortalMount | null {
  if (mount && portal !== 'CONSUMER') throw new TypeError("mount: needs portal: 'CONSUMER'")
  return mount
}

function machineCaller<C extends ChainId>(routes: readonly NamedRoute[], options: ApiClientOptions<readonly object[]>) {
  const settings = resolveOptions({ ...options, seal: 'none' })
  const { apiKey } = options
  const signer =
    typeof apiKey === 'string'
      ? undefined
      : lazySigner(async () => (await import('./session/signed-jwt.ts')).signAs(apiKey, settings, Date.now))
  return new GatewayCaller<C>({
    settings,
    routeOf: routesOf(routes),
    transport: createTransport(settings, parts, signer),
    parts,
    clientHash: async () => null,
    tokens: () => ({ current: async () => (typeof apiKey === 'string' ? apiKey : null), replace: async () => false }),
    channels: () => null,
    stepUp: null,
  })
}

/** Each client has one operation of each kind. */
function feedOf(routes: readonly NamedRoute[], caller: Parameters<typeof followEvents>[0]['caller']) {
  const find = (...ids: string[]) => routes.find(({ operation }) => ids.includes(operation.id))?.operation
  const list = find('events.list', 'events.listAll')
  if (!list) throw new TypeError('the contract has no feed of events')
  return { caller, list, stream: find('events.stream', 'events.streamAll') }
}
