/*
 * The parts of the entries `portico-client/consumer` and `/system`. scripts/client/entries.ts generates an entry, which
 * gives these functions its operations as plain data, so that a bundler omits the operations and parts that a page does not
 * use. Start reading with `frame.ts`.
 */
import { type Chain, type ChainId, type FixedPortal, mountChain } from '../../kernel/index.ts'
import type { ChannelFeature } from '../channel/handshake.ts'
import { buildSocketProtocols, type SocketOptions } from '../headers.ts'
import type { AnyArgs } from '../operation-types.ts'
import type { PortalOptions, SealRule, SessionMode } from '../options.ts'
import type { NewPasskey, PasskeySignIn, Passkeys, RegisteredPasskey } from '../passkeys/feature.ts'
import type { Route } from '../routes.ts'
import type { SessionFeature, SessionPart, SignInOperations } from '../session/modes.ts'
import { type SignIn, signIn } from '../session/sign-in.ts'
import type { StepUpFeature } from '../session/step-up.ts'
import type { PorticoEvent } from '../streams/cloud-event.ts'
import { type EventsOptions, followEvents, type ReceivedEvent } from '../streams/follow.ts'
import { assertPasskeys, createFrame, type Framed, type FrameView } from './frame.ts'
import type { CallableOperation } from './operation.ts'

export type { ChannelFeature } from '../channel/handshake.ts'
/** @internal */
export { createSecureChannel } from '../channel/handshake.ts'
export { type ClientCode, type ErrorCode, isPorticoError, isRefusal, PorticoError } from '../errors.ts'
export { iterate } from '../operation-caller.ts'
export type { Passkeys } from '../passkeys/feature.ts'
/** @internal */
export { retry } from '../retry.ts'
export type { SessionFeature } from '../session/modes.ts'
/** @internal */
export { cookieMode, tokenMode } from '../session/modes.ts'
export type { StepUpFeature } from '../session/step-up.ts'
/** @internal */
export { confirmByCode } from '../session/step-up.ts'
export type { PorticoEvent } from '../streams/cloud-event.ts'
export type { EventsOptions, ReceivedEvent } from '../streams/follow.ts'
/** @internal */
export { sendByXhr } from '../transport.ts'
export type * from './public-types.ts'

type AnyMethod = (args: never) => Promise<unknown>

/** An operation of a portal. `Method` is the type of its method in the client with all methods. */
export interface PortalOperation<P extends FixedPortal, Method extends AnyMethod> extends CallableOperation {
  /** Only a type. */
  readonly types?: { portal: P; method: Method }
}

export interface PortalCalls<P extends FixedPortal> {
  /** Calls an operation. Resolves with its data. */
  call<Method extends AnyMethod>(operation: PortalOperation<P, Method>, ...args: Parameters<Method>): ReturnType<Method>
}

/** For the functions of the entries. */
const viewOf = Symbol('portico-client')

interface Viewed<M extends SessionMode> {
  readonly [viewOf]: FrameView<M>
}

export type PortalClient<P extends FixedPortal, M extends SessionMode> = Framed<M, PortalCalls<P> & Viewed<M>>

/** With `secureChannel()`. A page that seals no call omits its code, and must say so. */
type Sealing = { seal: 'none'; secureChannel?: undefined } | { seal?: SealRule; secureChannel: ChannelFeature }

export type PortalClientOptions<M extends SessionMode> = Omit<PortalOptions, 'seal'> &
  Sealing & {
    /** `cookieSession()` or `tokenSession()`. */
    session: SessionFeature<M>
    /** `stepUpByCode(…)`. Default: the call rejects with ACCESS.STEP_UP_REQUIRED. */
    onStepUp?: StepUpFeature
    /** `passkeys(webAuthn())`. Default: the client uses no passkeys. */
    passkeys?: Passkeys
  }

/** @internal */
export function createPortalClient<P extends FixedPortal, M extends SessionMode>(
  portal: P,
  chains: Partial<Record<ChainId, Chain>>,
  options: PortalClientOptions<M>,
): PortalClient<P, M> {
  const { session, secureChannel = null, onStepUp: stepUp = null, passkeys = null, mount = null } = options
  if (!secureChannel && options.seal !== 'none') throw new TypeError("pass secureChannel, or seal: 'none'")
  const routeOf = (operation: CallableOperation): Route | undefined => {
    const chain = chains[operation.chains[0]]
    return chain && { operation, chain: mountChain(chain, mount) }
  }
  const frame = { portal, options, routeOf, session, secureChannel, stepUp, passkeys, parts: {} }
  return createFrame(frame, (view) => ({
    [viewOf]: view,
    call: <Method extends AnyMethod>(operation: PortalOperation<P, Method>, ...[args]: [AnyArgs?]) =>
      // The generated types of the operation are those of its schemas.
      view.caller.call(operation, args ?? {}).then(({ data }) => data) as ReturnType<Method>,
  }))
}

/** @internal */
export function signInTo<M extends SessionMode>(
  { [viewOf]: view }: Viewed<M>,
  operations: SignInOperations,
  input: SignIn,
): ReturnType<SessionPart<M>['complete']> {
  return signIn(view, operations, input)
}

/** @internal */
export function followEventsOf<M extends SessionMode, Type extends PorticoEvent['type']>(
  { [viewOf]: { caller } }: Viewed<M>,
  operations: { list: CallableOperation; stream: CallableOperation },
  options: EventsOptions<Type>,
): AsyncGenerator<ReceivedEvent<Type>, void, undefined> {
  return followEvents({ caller, ...operations }, options)
}

/** Signs in with a passkey, without a name and a password. The client needs `passkeys`. */
export function signInWithPasskey<M extends SessionMode>(
  { [viewOf]: view }: Viewed<M>,
  input?: PasskeySignIn,
): ReturnType<SessionPart<M>['complete']> {
  return assertPasskeys(view).signIn(view.caller, view.part.complete, input)
}

/** Registers a passkey of this device. Needs a step-up. The client needs `passkeys`. */
export function addPasskey<M extends SessionMode>(
  { [viewOf]: view }: Viewed<M>,
  input?: NewPasskey,
): Promise<RegisteredPasskey> {
  return assertPasskeys(view).add(view.caller, input)
}

/** Deletes a passkey, so that the browser no longer offers it. Needs a step-up. The client needs `passkeys`. */
export function removePasskey<M extends SessionMode>(
  { [viewOf]: view }: Viewed<M>,
  passkeyBizId: string,
): Promise<void> {
  return assertPasskeys(view).remove(view.caller, passkeyBizId)
}

/**
 * Returns the protocols for `new WebSocket(url, protocols)`, which carry headers and a fresh token. Call it for each
 * handshake.
 */
export function socketProtocols<M extends SessionMode>(client: Viewed<M>, options?: SocketOptions): Promise<string[]> {
  return buildSocketProtocols(client[viewOf], options)
}
