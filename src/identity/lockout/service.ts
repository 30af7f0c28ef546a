import { batch, inTransaction, type Statements, type Tx, together } from '../../database/index.ts'
import {
  type AccountId,
  type Code,
  canonicalEmail,
  type Instant,
  type Portal,
  Refusal,
  rateLimited,
  type SessionId,
} from '../../kernel/index.ts'
import type { DeviceDigests } from '../devices/store.ts'
import type { IdentityPorts } from '../ports.ts'
import {
  addFailure,
  type Failures,
  isLockedOut,
  type LockoutRule,
  mergeFailures,
  noFailures,
  remainingFailures,
  removeFailure,
} from './rules.ts'
import {
  adoptFailures,
  deleteFailures,
  deleteFailuresOfAllDevices,
  deleteSingleFailure,
  type FailureSubject,
  insertFailures,
  lockFailures,
  readFailures,
  readFailuresOfAllDevices,
  unknownDevices,
  updateFailures,
} from './store.ts'

export interface CountedFailure {
  subject: FailureSubject
  failures: Failures
}

/**
 * Limits wrong passwords and codes (see rules.ts). Counts a failure before the verification, so that parallel requests
 * cannot exceed the limit. A success withdraws the failure.
 */
export class Lockout {
  readonly #ports: Pick<IdentityPorts, 'database' | 'clock' | 'digest'>
  readonly #rule: LockoutRule

  constructor(ports: Pick<IdentityPorts, 'database' | 'clock' | 'digest'>, rule: LockoutRule) {
    this.#ports = ports
    this.#rule = rule
  }

  /**
   * Each known device has its own counter, and unknown devices share one, so that a stranger cannot lock the owner out.
   * Also counts addresses without an account, so that the limit does not reveal accounts.
   */
  loginSubject(portal: Portal, email: string, knownDevice: DeviceDigests | null): FailureSubject {
    return this.#subject(portal, [canonicalEmail(email)], knownDevice)
  }

  /** Counts wrong codes of all sessions of an account, apart from failed sign-ins. */
  factorSubject(portal: Portal, accountId: AccountId): FailureSubject {
    return this.#subject(portal, ['factor', accountId])
  }

  /** Counts wrong codes of one session. Use it with `ofSession`. */
  sessionSubject(portal: Portal, sessionId: SessionId): FailureSubject {
    return this.#subject(portal, ['factor-session', sessionId])
  }

  /** Half of the limit, so that a stolen session leaves tries for the owner. */
  ofSession(): Lockout {
    return new Lockout(this.#ports, { ...this.#rule, limit: Math.ceil(this.#rule.limit / 2) })
  }

  resetSubject(portal: Portal, accountId: AccountId): FailureSubject {
    return this.#subject(portal, ['reset', accountId])
  }

  registrationSubject(portal: Portal, email: string): FailureSubject {
    return this.#subject(portal, ['registration', canonicalEmail(email)])
  }

  /** Throws ACCESS.RATE_LIMITED if the subject is locked out. */
  async countFailure(subject: FailureSubject): Promise<CountedFailure> {
    return (await this.countFailureAnd(subject, together([]))).counted
  }

  /** Like `countFailure`. Sends `read` in the same round trip. */
  async countFailureAnd<T>(
    subject: FailureSubject,
    read: Statements<T>,
  ): Promise<{ counted: CountedFailure; result: T }> {
    const { database, clock } = this.#ports
    const now = clock.now()
    await this.#adopt(subject, now)
    // Most subjects have no failures and need one statement.
    const first = addFailure(noFailures(now), this.#rule, now)
    const [isFirst, result] = await batch(database, [insertFailures(subject, first), read])
    return { counted: isFirst ? { subject, failures: first } : await this.#countNext(subject, now), result }
  }

  async #countNext(subject: FailureSubject, now: Instant): Promise<CountedFailure> {
    const { database } = this.#ports
    const failures = await inTransaction(database, async (tx) => {
      const known = await lockFailures(tx, subject)
      if (!known) return undefined
      if (isLockedOut(known, this.#rule, now)) throw this.#lockedOut(known.lockedUntil - now)
      const added = addFailure(known, this.#rule, now)
      await updateFailures(tx, subject, added)
      return added
    })
    // Another request deleted the failures after the insert failed.
    return failures ? { subject, failures } : this.countFailure(subject)
  }

  async withdrawFailure(counted: CountedFailure): Promise<void> {
    await this.withdrawFailureAnd(counted, together([]))
  }

  /** Like `withdrawFailure`. Sends `write` in the same round trip. */
  async withdrawFailureAnd<T>({ subject, failures }: CountedFailure, write: Statements<T>): Promise<T> {
    const isOnly = failures.inWindow === 1 && failures.consecutive === 1
    const withdrawn = isOnly ? deleteSingleFailure(subject, failures) : together([]).map(() => false)
    const [isWithdrawn, result] = await batch(this.#ports.database, [withdrawn, write])
    if (!isWithdrawn) await this.#withdrawNext(subject)
    return result
  }

  async #withdrawNext(subject: FailureSubject): Promise<void> {
    const { database, clock } = this.#ports
    await this.#adopt(subject, clock.now())
    await inTransaction(database, async (tx) => {
      const known = await lockFailures(tx, subject)
      if (known) await updateFailures(tx, subject, removeFailure(known, this.#rule, clock.now()))
    })
  }

  /** Runs `check`, and counts a failure only if `check` throws a Refusal with a code in `wrong`. */
  async countIfRefused<T>(subject: FailureSubject, wrong: ReadonlySet<Code>, check: () => Promise<T>): Promise<T> {
    const counted = await this.countFailure(subject)
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof Refusal && wrong.has(error.code))) await this.withdrawFailure(counted)
      throw error
    }
  }

  /** Keeps the failures of other devices. */
  clear(subject: FailureSubject): Statements<unknown> {
    return deleteFailures(subject)
  }

  /** Clears all devices. */
  clearLogins(tx: Tx, portal: Portal, email: string): Promise<void> {
    return deleteFailuresOfAllDevices(tx, this.loginSubject(portal, email, null))
  }

  /** When each lockout of the subject ends. */
  async lockoutsOfAllDevices(subject: FailureSubject): Promise<Instant[]> {
    const { database, clock } = this.#ports
    const counters = await readFailuresOfAllDevices(database, subject)
    return counters
      .filter((failures) => isLockedOut(failures, this.#rule, clock.now()))
      .flatMap(({ lockedUntil }) => lockedUntil ?? [])
  }

  async remainingFailures(subject: FailureSubject): Promise<number> {
    const { database, clock } = this.#ports
    const now = clock.now()
    await this.#adopt(subject, now)
    return remainingFailures((await readFailures(database, subject)) ?? noFailures(now), this.#rule, now)
  }

  #adopt(subject: FailureSubject, now: Instant): Promise<void> {
    return adoptFailures(this.#ports.database, subject, now, (all) => mergeFailures(all, this.#rule, now))
  }

  #subject(portal: Portal, parts: readonly string[], knownDevice: DeviceDigests | null = null): FailureSubject {
    const [digest, ...previousDigests] = this.#ports.digest.candidates('login-failures', portal, ...parts)
    const [device, ...previousDevices] = knownDevice ?? [unknownDevices]
    // Both lists are in the order of the keys.
    const previous = previousDigests.map((each, index) => ({ digest: each, device: previousDevices[index] ?? device }))
    return { portal, digest, device, previous }
  }

  #lockedOut(remainingMs: number): Refusal {
    const { limit, windowMs } = this.#rule
    return rateLimited(remainingMs, 'too many failures for this e-mail', { name: 'failures', limit, windowMs })
  }
}
