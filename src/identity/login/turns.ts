import { type ConcurrencyLimiter, type ConcurrencyLimits, createConcurrencyLimiter } from '../../kernel/index.ts'

export interface LoginTurns {
  begin: ConcurrencyLimiter
  goOn: ConcurrencyLimiter
}

/**
 * The steps of logins take turns, a few at a time, so that the store's connections and the event loop are never all
 * theirs: where many sign in at once they wait, and not whoever is signed in already. Logins under way have a line of
 * their own: what has begun is finished, however many would begin.
 */
export const loginTurns = (limits: ConcurrencyLimits): LoginTurns => ({
  begin: createConcurrencyLimiter(limits),
  goOn: createConcurrencyLimiter(limits),
})
