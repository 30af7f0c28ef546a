import { inTransaction, type Tx } from '../../database/index.ts'
import { type AccountId, type Code, canonicalEmail, type Portal, Refusal, rateLimited } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import {
  addFailure,
  type Failures,
  isLockedOut,
  type LockoutRule,
  noFailures,
  remainingFailures,
  removeFailure,
} from './rules.ts'
import {
  deleteFailures,
  deleteSingleFailure,
  type FailureSubject,
  insertFailures,
  lockFailures,
  readFailures,
  updateFailures,
} from './store.ts'

/** A failure that was counted in advance. */
export interface CountedFailure {
  subject: FailureSubject
  /** The failures of the subject, including this one. */
  failures: Failures
}

/**
 * Limits wrong passwords and codes. A failure is counted before the password or code is verified, so that parallel
 * requests cannot exceed the limit. It is withdrawn if the verification succeeds. The rules are in rules.ts.
 */
export class Lockout {
  readonly #ports: Pick<IdentityPorts, 'database' | 'clock' | 'digest'>
  readonly #rule: LockoutRule

  constructor(ports: Pick<IdentityPorts, 'database' | 'clock' | 'digest'>, rule: LockoutRule) {
    this.#ports = ports
    this.#rule = rule
  }

  /**
   * Returns the subject that counts sign-ins with an e-mail address. Addresses without an account are counted too, so
   * that the limit does not reveal which addresses have one.
   */
  loginSubject(portal: Portal, email: string): FailureSubject {
    return { portal, digest: this.#ports.digest('login-failures', portal, canonicalEmail(email)) }
  }

  /** Returns the subject that counts the codes that the sessions of an account try. It is separate from sign-ins. */
  factorSubject(portal: Portal, accountId: AccountId): FailureSubject {
    return { portal, digest: this.#ports.digest('login-failures', portal, 'factor', accountId) }
  }

  /** Returns the subject that counts the codes that all registrations of an address try. */
  registrationSubject(portal: Portal, email: string): FailureSubject {
    return { portal, digest: this.#ports.digest('login-failures', portal, 'registration', canonicalEmail(email)) }
  }

  /** Counts a failure in advance. Throws ACCESS.RATE_LIMITED if the subject is locked out. */
  async countFailure(subject: FailureSubject): Promise<CountedFailure> {
    const { database, clock } = this.#ports
    const now = clock.now()
    // Most subjects have no failures, so one statement is usually enough.
    const first = addFailure(noFailures(now), this.#rule, now)
    if (await insertFailures(database, subject, first)) return { subject, failures: first }
    const failures = await inTransaction(database, async (tx) => {
      const known = await lockFailures(tx, subject)
      if (!known) return undefined
      if (isLockedOut(known, this.#rule, now)) throw this.#lockedOut(known.lockedUntil - now)
      const added = addFailure(known, this.#rule, now)
      await updateFailures(tx, subject, added)
      return added
    })
    // The failures were deleted after the insert failed, so insert them again.
    return failures ? { subject, failures } : this.countFailure(subject)
  }

  /** Withdraws a failure that was counted in advance. */
  async withdrawFailure({ subject, failures }: CountedFailure): Promise<void> {
    const { database, clock } = this.#ports
    const isOnly = failures.inWindow === 1 && failures.consecutive === 1
    if (isOnly && (await deleteSingleFailure(database, subject, failures))) return
    await inTransaction(database, async (tx) => {
      const known = await lockFailures(tx, subject)
      if (known) await updateFailures(tx, subject, removeFailure(known, this.#rule, clock.now()))
    })
  }

  /** Runs `check` and counts a failure only if it is refused with `wrong`. */
  async countIfRefused<T>(subject: FailureSubject, wrong: Code, check: () => Promise<T>): Promise<T> {
    const counted = await this.countFailure(subject)
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof Refusal && error.code === wrong)) await this.withdrawFailure(counted)
      throw error
    }
  }

  /** Deletes the failures of a subject. */
  clear(tx: Tx, subject: FailureSubject): Promise<void> {
    return deleteFailures(tx, subject)
  }

  /** Returns how many more failures are possible before a lockout. */
  async remainingFailures(subject: FailureSubject): Promise<number> {
    const { database, clock } = this.#ports
    const now = clock.now()
    return remainingFailures((await readFailures(database, subject)) ?? noFailures(now), this.#rule, now)
  }

  #lockedOut(remainingMs: number): Refusal {
    const { limit, windowMs } = this.#rule
    return rateLimited(remainingMs, 'too many failures for this e-mail', { name: 'failures', limit, windowMs })
  }
}
