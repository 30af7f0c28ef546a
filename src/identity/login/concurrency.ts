import { type ConcurrencyLimiter, type ConcurrencyLimits, createConcurrencyLimiter } from '../../kernel/index.ts'

/** Concurrency limits of login steps. */
export interface LoginConcurrency {
  firstStep: ConcurrencyLimiter
  laterSteps: ConcurrencyLimiter
}

/**
 * Limits concurrent login steps so that logins cannot starve signed-in users of database connections and CPU. Later steps
 * have a limit of their own, so that new logins cannot block pending ones.
 */
export const createLoginConcurrency = (limits: ConcurrencyLimits): LoginConcurrency => ({
  firstStep: createConcurrencyLimiter(limits),
  laterSteps: createConcurrencyLimiter(limits),
})
