import { refreshToken } from '../contract/auth.ts'
import type { Portal } from '../kernel/index.ts'
import type { Calling } from './calling.ts'
import { closeSession, createChannelKeeper, openSession } from './channel/index.ts'
import { clientHashOf } from './client-hash.ts'
import type { Operations } from './contract-types.ts'
import { createCalling } from './create-calling.ts'
import { createExchange } from './exchange.ts'
import { type ClientOptions, settle } from './options.ts'
import { routesOf } from './routes.ts'
import { createSession, createTokenStore, lockFor, memoryStorage, type Session } from './session/index.ts'
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

/** The client of one portal: a method per operation, named as in the contract, and the sign-in around them. */
export const createClient = <const P extends Portal>(options: ClientOptions<P>): Client<P> => {
  const settings = settle(options)
  const storage = options.storage ?? memoryStorage()
  const lock = lockFor(options.storage !== undefined)
  const key = (name: string): string => `portico:${settings.portal}:${name}`
  const clientHash = clientHashOf(settings.clientHash, storage, key('client-hash'), lock)
  const routes = routesOf(settings.portal)
  const exchange = createExchange(settings, createTransport(settings.fetch))
  const calling: Calling = createCalling({
    settings,
    routes,
    exchange,
    clientHash,
    session: () => session,
    channels: () => channels,
  })
  const channels = createChannelKeeper(async () => openSession(calling, await clientHash(), settings.now), settings.now)
  const session = createSession({
    store: createTokenStore(storage, key('tokens'), settings.now),
    lock,
    lockName: key('refresh'),
    now: settings.now,
    refresh: async (token) => (await calling.answer(refreshToken, { body: { refreshToken: token } })).data,
    onSignedOut: settings.onSignedOut,
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
  const methods = routes.map(({ name, operation }) => [
    name,
    async (args: object = {}) => (await calling.answer(operation, args)).data,
  ])
  // Its names and types follow from the same catalogue; test/client holds the two lists against each other.
  return Object.assign(Object.fromEntries(methods) as Operations<P>, frame)
}
