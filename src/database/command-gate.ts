import { AsyncLocalStorage } from 'node:async_hooks'
import type { Tx } from './tables.ts'

const gates = new AsyncLocalStorage<CommandGate | undefined>()

/**
 * Runs a check first in the transaction of a command. Until a transaction with the check has committed, every other one
 * of the command begins with it, too, and the command can only read outside of them.
 */
export class CommandGate {
  /** An operation id. */
  readonly command: string
  readonly #check: (tx: Tx) => Promise<void>
  #hasPassed = false
  #hasEnded = false
  #failure: { error: unknown } | undefined

  constructor(command: string, check: (tx: Tx) => Promise<void>) {
    this.command = command
    this.#check = check
  }

  /** Whether a transaction that began with the check has committed. */
  get hasPassed(): boolean {
    return this.#hasPassed
  }

  get isClosed(): boolean {
    return !this.#hasPassed && !this.#hasEnded
  }

  /** Rejects with the error of the check, even if `work` catches or replaces it. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const [settled] = await Promise.allSettled([gates.run(this, work)])
    this.#hasEnded = true
    if (this.#failure && !this.#hasPassed) throw this.#failure.error
    if (settled.status === 'rejected') throw settled.reason
    return settled.value
  }

  async enter(tx: Tx): Promise<void> {
    this.#failure = undefined
    try {
      await this.#check(tx)
    } catch (error) {
      this.#failure = { error }
      throw error
    }
  }

  pass(): void {
    this.#hasPassed = true
  }
}

/** The gate of the current command, unless it is open. */
export function closedGate(): CommandGate | undefined {
  const gate = gates.getStore()
  return gate?.isClosed ? gate : undefined
}

/** Runs work that is not part of the current command. */
export function outsideCommand<T>(work: () => T): T {
  return gates.run(undefined, work)
}
