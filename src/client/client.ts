import './zod-config.ts'

import { refreshToken } from '../identity/login/contract.ts'
import type { Portal } from '../kernel/index.ts'
import { createExchange } from './attempt.ts'
import { closeChannel, createChannelCache, openChannel } from './channel/index.ts'
import { createCalling, createMethods } from './operation-caller.ts'
import type { OperationCaller, Operations } from './operation-types.ts'
import { type ClientOptions, resolveOptions } from './options.ts'
import { listRoutes, portalChains } from './routes.ts'
import { createClientHash } from './session/client-hash.ts'
import {
  createSession,
  createTabLock,
  createTokenStore,
  memoryStorage,
  type Session,
  withMemoryFallback,
} from './session/index.ts'
import { type SignedIn, type SignIn, signIn, signOut } from './session/sign-in.ts'
import { createTransport } from './transport.ts'

export interface ClientFrame {
  /** Signs in by e-mail, password and second factor; the tokens are kept and renewed from then on. */
  signIn(asked: SignIn): Promise<SignedIn>
  signOut(): Promise<void>
  /** Ends the secure-channel session, if one is open. The sign-in lives on. */
  close(): Promise<void>
  readonly session: Session
  /** X-Client-Hash, to which tokens and channel are bound. */
  clientHash(): Promise<string>
  /** Calls any operation of the portal by its declaration, for code that goes over the catalogue. */
  readonly answer: OperationCaller['answer']
}

export type Client<P extends Portal> = Operations<P> & ClientFrame

/**
 * The client of one portal: a method per operation, named as in the contract, and the sign-in around them. A call rejects with
 * a PorticoError, with its signal's reason once it is given up, and with a TypeError where it could not be made at all.
 * A client is one sign-in: a server that calls for several users makes one for each of them.
 */
export const createClient = <const P extends Portal>(options: ClientOptions<P>): Client<P> => {
  const settings = resolveOptions(options)
  const { now = Date.now } = options
  const storage = options.storage ? withMemoryFallback(options.storage) : memoryStorage()
  const lock = createTabLock(options.storage !== undefined)
  const key = (name: string): string => `portico:${options.portal}:${name}`
  const store = createTokenStore(storage, key('tokens'), now)
  const ownHash = createClientHash(options.clientHash ?? null, storage, key('client-hash'), lock)
  const clientHash = async (): Promise<string> => (await store.read())?.clientHash ?? ownHash()
  const routes = listRoutes(portalChains[options.portal])
  const exchange = createExchange(settings, createTransport(settings.fetch))
  const calling: OperationCaller = createCalling({
    settings,
    routes,
    exchange,
    clientHash,
    tokens: () => ({
      current: async () => (await session.fresh())?.accessToken ?? null,
      replace: async (accessToken) => (await session.renew({ accessToken })) !== null,
    }),
    channels: () => channels,
  })
  const channels = createChannelCache((hash) => openChannel(calling, hash, now), now)
  const session = createSession({
    store,
    clientHash,
    lock,
    lockName: key('refresh'),
    now,
    refresh: async (token) => (await calling.answer(refreshToken, { body: { refreshToken: token } })).data,
    onSignedOut: options.onSignedOut ?? (() => undefined),
  })
  const frame: ClientFrame = {
    signIn: (asked) => signIn(calling, session, asked),
    signOut: () => signOut(calling, session),
    close: async () => {
      const channel = await channels.take()
      if (channel) await closeChannel(calling, channel)
    },
    session,
    clientHash,
    answer: calling.answer,
  }
  return Object.assign(createMethods<Operations<P>>(routes, calling), frame)
}
