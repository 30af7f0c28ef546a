import type { logout, refreshToken } from '../../identity/login/contract.ts'
import { clientError, isPorticoError, isRefusal, type PorticoError } from '../errors.ts'
import type { OperationCaller } from '../operation-types.ts'
import type { AccountGuard } from './account-guard.ts'
import { accountOf, type TokenPair, type TokenStore, type Tokens } from './credentials.ts'
import { SessionListeners, type SessionState } from './listeners.ts'
import { readUntilChanged, type TabLock } from './tab-lock.ts'

/**
 * A client's tokens and their renewal. The account is the one that signed in here, or whose tokens were found first.
 * After another tab has signed in a different one, all methods but `adopt` reject with CLIENT.SIGNED_IN_ELSEWHERE.
 */
export interface ClientSession {
  /** Returns the stored tokens, or null without a sign-in. */
  tokens(): Promise<Tokens | null>
  /** Stores tokens obtained elsewhere. */
  adopt(pair: TokenPair): Promise<void>
  /** Deletes the tokens. The gateway's session continues. */
  clear(): Promise<void>
  /** Returns the tokens for the next call, renewed if they expire soon. */
  fresh(): Promise<Tokens | null>
  /** Renews rejected tokens. Returns null if the session has ended. */
  renew(rejected: Pick<Tokens, 'accessToken'>): Promise<Tokens | null>
  /**
   * Calls the listener after a sign-in and after the end of the session, in this tab or another one with the same storage.
   * Reload the page if another tab has signed in a different account. Returns the function that removes the listener. The
   * client's `close` removes all.
   */
  onChange(listener: (session: SessionState) => void): () => void
}

export interface TokenOperations {
  logout: typeof logout
  refreshToken: typeof refreshToken
}

export interface SessionParts {
  store: TokenStore
  guard: AccountGuard
  lock: TabLock
  lockName: string
  /** Of the tokens in the storage. */
  key: string
  now: () => number
  clientHash(): Promise<string>
  refresh(refreshToken: string): Promise<TokenPair>
  onSignedOut(): void
}

/** Other tabs can delete or replace the stored tokens. */
class TokenWatch {
  private readonly onSignedOut: () => void
  private readonly guard: AccountGuard
  private hasTokens = false

  constructor(onSignedOut: () => void, guard: AccountGuard) {
    this.onSignedOut = onSignedOut
    this.guard = guard
  }

  /**
   * Reports once that known tokens have disappeared, even if another tab signed out. Throws CLIENT.SIGNED_IN_ELSEWHERE
   * for the tokens of another account.
   */
  observe(tokens: Tokens | null): Tokens | null {
    this.assertOwn(tokens)
    if (tokens) this.guard.account = accountOf(tokens)
    const isSignedOut = this.hasTokens && tokens === null
    this.hasTokens = tokens !== null
    if (isSignedOut) this.onSignedOut()
    return tokens
  }

  assertOwn(tokens: Tokens | null): void {
    const { account } = this.guard
    if (tokens && account !== null && account !== accountOf(tokens)) throw signedInElsewhere()
  }

  /** Called for a sign-in or sign-out in this client. */
  expect(tokens: Pick<Tokens, 'accessToken'> | null): void {
    this.hasTokens = tokens !== null
    this.guard.account = tokens && accountOf(tokens)
  }
}

export function createSession(parts: SessionParts): ClientSession & { close(): void } {
  const { store, guard, lock, lockName, key, now, clientHash, refresh, onSignedOut } = parts
  const watch = new TokenWatch(onSignedOut, guard)
  const read = async (): Promise<Tokens | null> => watch.observe(await store.read())
  let renewal: Promise<Tokens | null> | null = null
  const listeners = new SessionListeners(key, () => void update())
  // Renewed tokens are not a change.
  let seen: string | null | undefined
  const see = (tokens: Pick<Tokens, 'accessToken'> | null): void => {
    const account = tokens && accountOf(tokens)
    if (account === seen) return
    seen = account
    listeners.notify(account === null ? { signedIn: false } : { signedIn: true, accountBizId: account })
  }
  const update = async (): Promise<void> => {
    const tokens = await readUntilChanged(store.read, (stored) => (stored && accountOf(stored)) !== seen)
    see(tokens)
    // The next call also reports a different account.
    if (!tokens) watch.observe(tokens)
  }

  const exchange = async (rejected: Pick<Tokens, 'accessToken'>, waited: boolean): Promise<Tokens | null> => {
    const hasChanged = (tokens: Tokens | null): boolean => tokens?.accessToken !== rejected.accessToken
    const stored = waited ? await readUntilChanged(read, hasChanged) : await read()
    if (!stored || hasChanged(stored)) return stored
    const pair = await refresh(stored.refreshToken).catch((error: unknown) => {
      if (endsSession(error)) return null
      throw error
    })
    const current = await read()
    // A sign-in or sign-out during this renewal takes precedence, even if the renewal failed.
    if (current?.refreshToken !== stored.refreshToken) return current
    if (pair) return store.save(pair, stored.clientHash)
    await store.clear()
    watch.observe(null)
    see(null)
    listeners.announce()
    return null
  }

  const renew = (rejected: Pick<Tokens, 'accessToken'>): Promise<Tokens | null> => {
    renewal ??= lock(lockName, (waited) => exchange(rejected, waited)).finally(() => {
      renewal = null
    })
    return renewal
  }

  return {
    tokens: read,
    adopt: async (pair) => {
      const hash = await clientHash()
      watch.expect(pair)
      await store.save(pair, hash)
      see(pair)
      listeners.announce()
    },
    clear: async () => {
      watch.assertOwn(await store.read())
      watch.expect(null)
      await store.clear()
      see(null)
      listeners.announce()
    },
    fresh: async () => {
      const tokens = await read()
      if (!tokens || tokens.renewAt > now()) return tokens
      // The old token is still valid.
      return renew(tokens).catch((error: unknown) => {
        if (isPorticoError(error, 'CLIENT.SIGNED_IN_ELSEWHERE')) throw error
        return tokens
      })
    },
    renew,
    onChange: (listener) => {
      const remove = listeners.add(listener)
      // The tokens that the page found must not count as a change, but their end must.
      if (seen === undefined) void store.read().then((tokens) => (seen ??= tokens && accountOf(tokens)))
      return remove
    },
    close: () => listeners.close(),
  }
}

/** Deletes the tokens even if the session has ended or the request fails. */
export async function signOut(
  caller: OperationCaller,
  { logout }: Pick<TokenOperations, 'logout'>,
  session: ClientSession,
): Promise<void> {
  try {
    if (await session.tokens()) await caller.answer(logout, {})
  } catch (error) {
    if (!isRefusal(error) || error.status !== 401) throw error
  } finally {
    await session.clear()
  }
}

export function signedInElsewhere(): PorticoError {
  return clientError('CLIENT.SIGNED_IN_ELSEWHERE', 'another tab has signed in a different account')
}

/** Other failures, such as a proxy's 401, do not prove that the session has ended. */
function endsSession(error: unknown): boolean {
  return isPorticoError(error, 'AUTH.SESSION_NOT_FOUND') || (isRefusal(error) && error.status === 401)
}
