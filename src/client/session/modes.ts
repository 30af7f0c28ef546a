import type { startBrowserSession } from '../../identity/browser-sessions/contract.ts'
import type { completeLogin, initiateLogin, sendLoginCode } from '../../identity/login/contract.ts'
import type { Portal } from '../../kernel/index.ts'
import type { TokenSource } from '../operation-caller.ts'
import type { Args, OperationCaller, Result } from '../operation-types.ts'
import type { SessionMode } from '../options.ts'
import type { LastSteps } from '../passkeys/feature.ts'
import type { RequestSigner } from '../transport.ts'
import { type AccountGuard, guardOf } from './account-guard.ts'
import { type CookieOperations, type CookieSession, CookieSessions } from './cookie-session.ts'
import { createClientHash, createTokenStore } from './credentials.ts'
import { type ClientSession, createSession, signOut, type TokenOperations } from './session.ts'
import { memoryStorage, pageStorage, type Storage, withMemoryFallback } from './storage.ts'
import { createTabLock, type TabLock } from './tab-lock.ts'

/** The tokens with their lifetimes in seconds, the session, and whether the device is new. */
export type SignedIn = Result<typeof completeLogin>

/** The session and its lifetimes in seconds. No token. */
export type StartedBrowserSession = Result<typeof startBrowserSession>

export type Completion = Args<typeof completeLogin>['body']

export interface SignInOperations {
  initiateLogin: typeof initiateLogin
  sendLoginCode: typeof sendLoginCode
  completeLogin: typeof completeLogin
  startBrowserSession: typeof startBrowserSession
}

export interface SessionPorts {
  portal: Portal
  clientHash: string | null
  now(): number
  onSignedOut(): void
  /** Calls operations after the client has been created. */
  caller(): OperationCaller
}

/** The session of a client, and how its calls prove it. */
export interface SessionPart<M extends SessionMode> {
  mode: M
  session: M extends 'cookie' ? CookieSession : ClientSession
  tokens: TokenSource
  clientHash(): Promise<string>
  /** Undefined unless the session is bound to a key. */
  signer?: RequestSigner | undefined
  /** The last step of a sign-in, by the operation of the mode. */
  complete(steps: LastSteps): Promise<M extends 'cookie' ? StartedBrowserSession : SignedIn>
  signOut(): Promise<void>
  /** Removes the listeners of the session. */
  close(): void
}

/** A session mode with its storage. */
export type SessionFeature<M extends SessionMode> = (ports: SessionPorts) => SessionPart<M>

export function cookieMode(operations: CookieOperations, given: Storage = pageStorage()): SessionFeature<'cookie'> {
  return (ports) => {
    const { storage, guard, key, ownHash } = share(ports, given)
    const { caller, now, onSignedOut } = ports
    const session = new CookieSessions({ operations, caller, storage, guard, key: key('account'), now, onSignedOut })
    return {
      mode: 'cookie',
      session,
      tokens: session,
      clientHash: ownHash,
      complete: async ({ cookie }) => {
        const data = await cookie()
        await session.started()
        return data
      },
      signOut: () => session.end(),
      close: () => session.close(),
    }
  }
}

export function tokenMode(
  operations: TokenOperations,
  given: Storage | undefined,
  dpop = false,
): SessionFeature<'tokens'> {
  return (ports) => {
    const { storage, guard, lock, key, ownHash } = share(ports, given)
    const { caller, now, onSignedOut } = ports
    const store = createTokenStore(storage, key('tokens'), now)
    const clientHash = async (): Promise<string> => (await store.read())?.clientHash ?? ownHash()
    const session = createSession({
      store,
      guard,
      clientHash,
      lock,
      lockName: key('refresh'),
      key: key('tokens'),
      now,
      refresh: async (token) =>
        (await caller().answer(operations.refreshToken, { body: { refreshToken: token } })).data,
      onSignedOut,
    })
    return {
      mode: 'tokens',
      session,
      tokens: {
        current: async () => (await session.fresh())?.accessToken ?? null,
        replace: async (accessToken) => accessToken !== null && (await session.renew({ accessToken })) !== null,
      },
      clientHash,
      signer: dpop ? lazySigner(async () => (await import('./dpop.ts')).createDpop(key('dpop'), now)) : undefined,
      complete: async (steps) => {
        const data = await steps.tokens()
        if (dpop && data.tokenType !== 'DPoP')
          throw new TypeError('dpop: the gateway has not bound the session to a key')
        await session.adopt(data)
        return data
      },
      signOut: () => signOut(caller(), operations, session),
      close: () => session.close(),
    }
  }
}

/** The code of a signer loads with the first request. */
export function lazySigner(create: () => Promise<RequestSigner>): RequestSigner {
  let loading: Promise<RequestSigner> | null = null
  const load = () => (loading ??= create())
  return {
    sign: async (request) => (await load()).sign(request),
    learn: async (response) => (await load()).learn(response),
  }
}

interface Shared {
  storage: Storage
  guard: AccountGuard
  lock: TabLock
  key(name: string): string
  ownHash(): Promise<string>
}

/** The storage, and the values and locks that its clients share. */
function share({ portal, clientHash }: SessionPorts, given: Storage | undefined): Shared {
  const storage = given ? withMemoryFallback(given) : memoryStorage()
  const lock = createTabLock(given)
  const key = (name: string): string => `portico:${portal}:${name}`
  return {
    storage,
    guard: guardOf(given ?? storage, key('account')),
    lock,
    key,
    ownHash: createClientHash(clientHash, storage, key('client-hash'), lock),
  }
}
