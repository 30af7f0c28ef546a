import type { Tx } from '../../database/index.ts'
import { type AccountId, type Code, canonicalEmail, type Portal, Refusal, rateLimited } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import {
  clearFailures,
  countFailure,
  type FailureSubject,
  type LockoutRule,
  readFailures,
  withdrawFailure,
} from './store.ts'

/**
 * Limits wrong passwords and codes. A failure is counted before the password or code is checked, so that parallel
 * requests cannot exceed the limit, and withdrawn if it was not a failure.
 */
export class Lockout {
  readonly #ports: Pick<IdentityPorts, 'database' | 'clock' | 'digest'>
  readonly #rule: LockoutRule

  constructor(ports: Pick<IdentityPorts, 'database' | 'clock' | 'digest'>, rule: LockoutRule) {
    this.#ports = ports
    this.#rule = rule
  }

  /** Sign-ins with an e-mail address, whether or not it has an account: the limit must not reveal which addresses have one. */
  loginSubject(portal: Portal, email: string): FailureSubject {
    return { portal, digest: this.#ports.digest('login-failures', portal, canonicalEmail(email)) }
  }

  /** Codes that a signed-in session tries. They are counted apart from sign-ins. */
  factorSubject(portal: Portal, accountId: AccountId): FailureSubject {
    return { portal, digest: this.#ports.digest('login-failures', portal, 'factor', accountId) }
  }

  /** Codes that any registration of the address tries. */
  registrationSubject(portal: Portal, email: string): FailureSubject {
    return { portal, digest: this.#ports.digest('login-failures', portal, 'registration', canonicalEmail(email)) }
  }

  /** Counts a failure in advance. Throws ACCESS.RATE_LIMITED if the subject is locked out. */
  async countFailure(subject: FailureSubject): Promise<void> {
    const now = this.#ports.clock.now()
    const blockedUntil = await countFailure(this.#ports.database, subject, this.#rule, now)
    if (blockedUntil === undefined) return
    const { limit, windowMs } = this.#rule
    throw rateLimited(blockedUntil - now, 'too many failures for this e-mail', { name: 'failures', limit, windowMs })
  }

  /** Withdraws a failure that was counted in advance. */
  withdrawFailure(subject: FailureSubject): Promise<void> {
    return withdrawFailure(this.#ports.database, subject, this.#rule, this.#ports.clock.now())
  }

  /** Runs `check` and counts a failure only if it is refused with `wrong`. */
  async countIfRefused<T>(subject: FailureSubject, wrong: Code, check: () => Promise<T>): Promise<T> {
    await this.countFailure(subject)
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof Refusal && error.code === wrong)) await this.withdrawFailure(subject)
      throw error
    }
  }

  /** Deletes the failures of a subject. */
  clear(tx: Tx, subject: FailureSubject): Promise<void> {
    return clearFailures(tx, subject)
  }

  /** How many more failures lead to no wait. */
  async remainingFailures(subject: FailureSubject): Promise<number> {
    const { database, clock } = this.#ports
    return Math.max(0, this.#rule.limit - (await readFailures(database, subject, this.#rule, clock.now())))
  }
}
