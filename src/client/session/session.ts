import { isPorticoError, isRefusal } from '../errors.ts'
import type { TokenPair, TokenStore, Tokens } from './credentials.ts'
import { readUntilChanged, type TabLock } from './tab-lock.ts'

/** A client's sign-in: its tokens and their renewal. */
export interface Session {
  /** Returns the stored tokens, or null without a sign-in. */
  tokens(): Promise<Tokens | null>
  /** Stores tokens that were obtained elsewhere. */
  adopt(pair: TokenPair): Promise<void>
  /** Deletes the tokens. The session at the gateway continues. */
  clear(): Promise<void>
  /** Returns the tokens for the next call. Renews them first if they expire soon. */
  fresh(): Promise<Tokens | null>
  /** Renews tokens that the gateway rejected; null if the session has ended. */
  renew(rejected: Pick<Tokens, 'accessToken'>): Promise<Tokens | null>
}

export interface SessionParts {
  store: TokenStore
  lock: TabLock
  lockName: string
  now: () => number
  /** X-Client-Hash, which a sign-in is bound to. */
  clientHash(): Promise<string>
  refresh(refreshToken: string): Promise<TokenPair>
  onSignedOut(): void
}

/** Whether the gateway has ended the session. Any other failure, such as a 401 of a proxy, does not prove that. */
const endsSession = (error: unknown): boolean =>
  isPorticoError(error, 'AUTH.SESSION_NOT_FOUND') || (isRefusal(error) && error.status === 401)

/** Reports once that known tokens have disappeared, regardless of which tab signed out. */
class SignOutDetector {
  private readonly onSignedOut: () => void
  private hasTokens = false

  constructor(onSignedOut: () => void) {
    this.onSignedOut = onSignedOut
  }

  /** Returns the tokens unchanged. */
  observe(tokens: Tokens | null): Tokens | null {
    const isSignedOut = this.hasTokens && tokens === null
    this.hasTokens = tokens !== null
    if (isSignedOut) this.onSignedOut()
    return tokens
  }

  /** Ignores the next disappearance, because this client signs out itself. */
  ignoreNext(): void {
    this.hasTokens = false
  }
}

export const createSession = (parts: SessionParts): Session => {
  const { store, lock, lockName, now, clientHash, refresh, onSignedOut } = parts
  const detector = new SignOutDetector(onSignedOut)
  const read = async (): Promise<Tokens | null> => detector.observe(await store.read())
  let renewal: Promise<Tokens | null> | null = null

  const exchange = async (rejected: Pick<Tokens, 'accessToken'>, waited: boolean): Promise<Tokens | null> => {
    const hasChanged = (tokens: Tokens | null): boolean => tokens?.accessToken !== rejected.accessToken
    const stored = waited ? await readUntilChanged(read, hasChanged) : await read()
    if (!stored || hasChanged(stored)) return stored
    const pair = await refresh(stored.refreshToken).catch((error: unknown) => {
      if (endsSession(error)) return null
      throw error
    })
    const current = await read()
    // A sign-in or sign-out that happened meanwhile takes precedence over this renewal and its failure.
    if (current?.refreshToken !== stored.refreshToken) return current
    if (pair) return store.save(pair, stored.clientHash)
    await store.clear()
    return detector.observe(null)
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
      detector.observe(await store.save(pair, await clientHash()))
    },
    clear: () => {
      detector.ignoreNext()
      return store.clear()
    },
    fresh: async () => {
      const tokens = await read()
      if (!tokens || tokens.renewAt > now()) return tokens
      // The old token is still valid, so a failed early renewal must not fail the call.
      return renew(tokens).catch(() => tokens)
    },
    renew,
  }
}
