import type { Tx } from '../../database/index.ts'
import { type AccountId, type Code, canonicalEmail, type Portal, Refusal, rateLimited } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import {
  clearFailures,
  countFailure,
  type FailureRule,
  type FailureSubject,
  failuresOf,
  uncountFailure,
} from './failure-store.ts'

/**
 * The cap on wrong passwords and codes per e-mail (completions.md, Limits). It goes by the address alone, so known and
 * unknown ones are told apart by nothing, and a new login does not start it afresh.
 */
export interface Throttle {
  subject(portal: Portal, email: string): FailureSubject
  /** Codes tried by a session that is under way are counted apart from the logins. */
  factorSubject(portal: Portal, accountId: AccountId): FailureSubject
  /** Codes tried for an address that registers, in however many registrations: nobody guesses their way to a stranger's. */
  registrationSubject(portal: Portal, email: string): FailureSubject
  /** Counts a try as a failure in advance, or refuses with ACCESS.RATE_LIMITED. */
  count(subject: FailureSubject): Promise<void>
  /** The try was no failure after all. */
  uncount(subject: FailureSubject): Promise<void>
  /** Counts a try, and keeps the count only where it is refused with `wrong`: whatever else stops it has not looked at it. */
  counted<T>(subject: FailureSubject, wrong: Code, work: () => Promise<T>): Promise<T>
  clear(tx: Tx, subject: FailureSubject): Promise<void>
  /** How many more failures meet no wait. */
  remaining(subject: FailureSubject): Promise<number>
}

export const createThrottle = ({ database, clock, digest }: IdentityPorts, rule: FailureRule): Throttle => {
  const count = async (subject: FailureSubject): Promise<void> => {
    const now = clock.now()
    const blockedUntil = await countFailure(database, subject, rule, now)
    if (blockedUntil === undefined) return
    const { limit, windowMs } = rule
    throw rateLimited(blockedUntil - now, 'too many failures for this e-mail', { name: 'failures', limit, windowMs })
  }
  const uncount = (subject: FailureSubject): Promise<void> => uncountFailure(database, subject, rule, clock.now())
  return {
    subject: (portal, email) => ({ portal, digest: digest('login-failures', portal, canonicalEmail(email)) }),
    factorSubject: (portal, accountId) => ({ portal, digest: digest('login-failures', portal, 'factor', accountId) }),
    registrationSubject: (portal, email) => ({
      portal,
      digest: digest('login-failures', portal, 'registration', canonicalEmail(email)),
    }),
    count,
    uncount,
    counted: async (subject, wrong, work) => {
      await count(subject)
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof Refusal && error.code === wrong)) await uncount(subject)
        throw error
      }
    },
    clear: clearFailures,
    remaining: async (subject) => Math.max(0, rule.limit - (await failuresOf(database, subject, rule, clock.now()))),
  }
}
