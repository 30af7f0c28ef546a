import './zod-config.ts'

import { refreshToken } from '../identity/login/contract.ts'
import type { Portal } from '../kernel/index.ts'
import { createChannelCache } from './channel/channel.ts'
import { closeChannel, openChannel } from './channel/handshake.ts'
import { createMethods, GatewayCaller } from './operation-caller.ts'
import type { Module, OperationCaller, Operations, OperationsOf } from './operation-types.ts'
import { type ApiClientOptions, type ClientOptions, resolveOptions } from './options.ts'
import { listRoutes, portalChains } from './routes.ts'
import { createClientHash, createTokenStore } from './session/credentials.ts'
import { createSession, type Session } from './session/session.ts'
import { type SignedIn, type SignIn, signIn, signOut } from './session/sign-in.ts'
import { memoryStorage, withMemoryFallback } from './session/storage.ts'
import { createTabLock } from './session/tab-lock.ts'
import { createTransport } from './transport.ts'

export interface ClientFrame {
  /** Signs in by email, password and second factor. The client keeps the tokens and renews them. */
  signIn(input: SignIn): Promise<SignedIn>
  signOut(): Promise<void>
  /** Closes the secure-channel session if one is open. The user stays signed in. */
  close(): Promise<void>
  readonly session: Session
  /** The X-Client-Hash to which tokens and channel sessions are bound. */
  clientHash(): Promise<string>
  /** Calls any operation of the portal by its declaration, for code that iterates over the catalogue. */
  readonly answer: OperationCaller['answer']
}

export type Client<P extends Portal, Added extends readonly object[] = []> = Operations<P, Added> & ClientFrame

/**
 * Creates the client of one portal: a method per operation, named as in the contract, and the sign-in. A call rejects with
 * a PorticoError, with the reason of its aborted signal, or with a TypeError if the request could not be built.
 * A client holds one sign-in. A server that calls on behalf of several users creates one client for each.
 */
export const createClient = <const P extends Portal, const Added extends readonly object[] = []>(
  options: ClientOptions<P, Added>,
): Client<P, Added> => {
  const settings = resolveOptions(options)
  const { now = Date.now } = options
  const storage = options.storage ? withMemoryFallback(options.storage) : memoryStorage()
  const lock = createTabLock(options.storage !== undefined)
  const key = (name: string): string => `portico:${options.portal}:${name}`
  const store = createTokenStore(storage, key('tokens'), now)
  const ownHash = createClientHash(options.clientHash ?? null, storage, key('client-hash'), lock)
  const clientHash = async (): Promise<string> => (await store.read())?.clientHash ?? ownHash()
  const routes = listRoutes(portalChains[options.portal], options.contract)
  const caller: OperationCaller = new GatewayCaller({
    settings,
    routes,
    transport: createTransport(settings.fetch),
    clientHash,
    tokens: () => ({
      current: async () => (await session.fresh())?.accessToken ?? null,
      replace: async (accessToken) => (await session.renew({ accessToken })) !== null,
    }),
    channels: () => channels,
  })
  const channels = createChannelCache((hash) => openChannel(caller, hash, now), now)
  const session = createSession({
    store,
    clientHash,
    lock,
    lockName: key('refresh'),
    now,
    refresh: async (token) => (await caller.answer(refreshToken, { body: { refreshToken: token } })).data,
    onSignedOut: options.onSignedOut ?? (() => undefined),
  })
  const frame: ClientFrame = {
    signIn: (input) => signIn(caller, session, input),
    signOut: () => signOut(caller, session),
    close: async () => {
      const channel = await channels.take()
      if (channel) await closeChannel(caller, channel)
    },
    session,
    clientHash,
    answer: caller.answer,
  }
  return Object.assign(createMethods<Operations<P, Added>>(routes, caller), frame)
}

/** A method per operation of the api chain, and `answer` as in a portal's client. */
export type ApiClient<Added extends readonly object[] = []> = OperationsOf<'api', Module | Added[number]> &
  Pick<OperationCaller, 'answer'>

/** Creates the client of the api chain for machines: an API key, no sign-in, no secure channel. */
export const createApiClient = <const Added extends readonly object[] = []>(
  options: ApiClientOptions<Added>,
): ApiClient<Added> => {
  const settings = resolveOptions({ ...options, seal: 'none' })
  const routes = listRoutes(['api'], options.contract)
  const caller: OperationCaller = new GatewayCaller({
    settings,
    routes,
    transport: createTransport(settings.fetch),
    clientHash: async () => null,
    tokens: () => ({ current: async () => options.apiKey, replace: async () => false }),
    channels: () => null,
  })
  return Object.assign(createMethods<OperationsOf<'api', Module | Added[number]>>(routes, caller), {
    answer: caller.answer,
  })
}
