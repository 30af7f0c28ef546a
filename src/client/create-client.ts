import './browser.ts'

import { refreshToken } from '../identity/login/contract.ts'
import type { Portal } from '../kernel/index.ts'
import type { Calling } from './calling.ts'
import { closeSession, createChannelKeeper, openSession } from './channel/index.ts'
import { clientHashOf } from './client-hash.ts'
import type { Operations } from './contract-types.ts'
import { createCalling } from './create-calling.ts'
import { createExchange } from './exchange.ts'
import { methodsOf } from './methods.ts'
import { type ClientOptions, settle } from './options.ts'
import { portalChains, routesOf } from './routes.ts'
import { createSession, createTokenStore, keptAnyway, lockFor, memoryStorage, type Session } from './session/index.ts'
import { type SignedIn, type SignIn, signIn, signOut } from './sign-in.ts'
import { createTransport } from './transport/index.ts'

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
  readonly answer: Calling['answer']
}

export type Client<P extends Portal> = Operations<P> & ClientFrame

/**
 * The client of one portal: a method per operation, named as in the contract, and the sign-in around them. A call rejects with
 * a PorticoError, with its signal's reason once it is given up, and with a TypeError where it could not be made at all.
 * A client is one sign-in: a server that calls for several users makes one for each of them.
 */
export const createClient = <const P extends Portal>(options: ClientOptions<P>): Client<P> => {
  const settings = settle(options)
  const { now = Date.now } = options
  const storage = options.storage ? keptAnyway(options.storage) : memoryStorage()
  const lock = lockFor(options.storage !== undefined)
  const key = (name: string): string => `portico:${options.portal}:${name}`
  const store = createTokenStore(storage, key('tokens'), now)
  const ownHash = clientHashOf(options.clientHash ?? null, storage, key('client-hash'), lock)
  const clientHash = async (): Promise<string> => (await store.read())?.clientHash ?? ownHash()
  const routes = routesOf(portalChains[options.portal])
  const exchange = createExchange(settings, createTransport(settings.fetch))
  const calling: Calling = createCalling({
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
  const channels = createChannelKeeper((hash) => openSession(calling, hash, now), now)
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
      if (channel) await closeSession(calling, channel)
    },
    session,
    clientHash,
    answer: calling.answer,
  }
  return Object.assign(methodsOf<Operations<P>>(routes, calling), frame)
}
