import { isPorticoError, isRefusal } from '../errors.ts'
import { readUntilChanged, type TabLock } from './tab-lock.ts'
import type { TokenPair, TokenStore, Tokens } from './tokens.ts'

/**
 * Tells of a sign-in's end, whichever tab has ended it, as soon as this client looks for its tokens and finds none.
 * A client that has known nobody signed in is told nothing.
 */
export const createDeparture = (onSignedOut: () => void) => {
  let isKnown = false
  return {
    /** What was found, as it is. */
    seen: <T>(tokens: T | null): T | null => {
      const isGone = isKnown && tokens === null
      isKnown = tokens !== null
      if (isGone) onSignedOut()
      return tokens
    },
    /** The end that comes is this client's own doing. */
    expect: (): void => {
      isKnown = false
    },
  }
}

/** A client's sign-in: its tokens and their renewal. */
export interface Session {
  /** The tokens as they are kept; null where nobody is signed in. */
  tokens(): Promise<Tokens | null>
  /** Takes over tokens that were obtained elsewhere. */
  adopt(pair: TokenPair): Promise<void>
  /** Forgets the tokens; the session at the gateway lives on. */
  clear(): Promise<void>
  /** Tokens for the next call, renewed first where their end is near. */
  fresh(): Promise<Tokens | null>
  /** Successors of tokens that serve no more; null where the session is over. */
  renew(spent: Pick<Tokens, 'accessToken'>): Promise<Tokens | null>
}

export interface SessionParts {
  store: TokenStore
  lock: TabLock
  lockName: string
  now: () => number
  /** X-Client-Hash, to which a sign-in is bound. */
  clientHash(): Promise<string>
  refresh(refreshToken: string): Promise<TokenPair>
  onSignedOut(): void
}

/** The gateway knows the refresh token no more. Any other failure, a proxy's own 401 too, says nothing about the session. */
const isOver = (error: unknown): boolean =>
  isPorticoError(error, 'AUTH.SESSION_NOT_FOUND') || (isRefusal(error) && error.status === 401)

export const createSession = (parts: SessionParts): Session => {
  const { store, lock, lockName, now, clientHash, refresh, onSignedOut } = parts
  const departure = createDeparture(onSignedOut)
  const read = async (): Promise<Tokens | null> => departure.seen(await store.read())
  let renewal: Promise<Tokens | null> | null = null

  const exchange = async (spent: Pick<Tokens, 'accessToken'>, waited: boolean): Promise<Tokens | null> => {
    const isNews = (tokens: Tokens | null): boolean => tokens?.accessToken !== spent.accessToken
    const stored = waited ? await readUntilChanged(read, isNews) : await read()
    if (!stored || isNews(stored)) return stored
    const pair = await refresh(stored.refreshToken).catch((error: unknown) => {
      if (isOver(error)) return null
      throw error
    })
    const kept = await read()
    // Whoever signed out or in meanwhile stays so: neither the pair nor its end is theirs.
    if (kept?.refreshToken !== stored.refreshToken) return kept
    if (pair) return store.save(pair, stored.clientHash)
    await store.clear()
    return departure.seen<Tokens>(null)
  }

  const renew = (spent: Pick<Tokens, 'accessToken'>): Promise<Tokens | null> => {
    renewal ??= lock(lockName, (waited) => exchange(spent, waited)).finally(() => {
      renewal = null
    })
    return renewal
  }

  return {
    tokens: read,
    adopt: async (pair) => {
      departure.seen(await store.save(pair, await clientHash()))
    },
    clear: () => {
      departure.expect()
      return store.clear()
    },
    fresh: async () => {
      const tokens = await read()
      if (!tokens || tokens.renewAt > now()) return tokens
      // A renewal that fails before the end of the old token is not the call's failure yet.
      return renew(tokens).catch(() => tokens)
    },
    renew,
  }
}
