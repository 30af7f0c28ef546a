import type * as z from 'zod'
import type { CodedFamily, Permission } from '../../kernel/index.ts'

/** The statuses of an order type, and the prefix of its order numbers. */
export interface OrderTypeDeclaration {
  /** Three capital letters, such as `TRF` in `TRF-20260801-0000000000AB`. */
  readonly prefix: string
  /** Statuses that an order can leave. */
  readonly open: readonly string[]
  /**
   * Statuses in which an order has ended. Only a move with `afterEnd` leaves them. With open statuses and without
   * `orderType`, they include CANCELLED, for the reset of a sandbox.
   */
  readonly final: readonly string[]
  /** Whether the orders move value out of a workspace. They then count towards `money.stepUpAbove`. */
  readonly outgoing?: boolean
}

/** A change of an order's status. */
export type Move<Status extends string = string> = {
  /** Statuses that the order can leave by this move. Empty if the move creates the order. */
  readonly from: readonly Status[]
  /** Statuses that the order enters one after another. It stays in the last one. */
  readonly to: readonly [Status, ...Status[]]
  /** What happens to the funds that the order holds. `HELD` reserves them, `CAPTURED` spends them. */
  readonly holds?: 'HELD' | 'RELEASED' | 'CAPTURED'
  /**
   * What happens to the rolling sums of the order. `RETURNED` subtracts its amounts, `COUNTED` adds amounts, and
   * `REPLACED` does both if the move names amounts. A move to CANCELLED, REJECTED, FAILED or EXPIRED always subtracts them.
   */
  readonly limits?: 'RETURNED' | 'COUNTED' | 'REPLACED'
  /** Field of the order's data that stores the reason of the move. Null if only the history has it. */
  readonly reason?: string | null
  /** Other fields of the order's data that the move sets. */
  readonly sets?: readonly string[]
} & (
  | {
      readonly by: 'operator'
      readonly permission: Permission
      /** Allows the move while a workspace of the order is frozen or its creator is suspended, to give funds back. */
      readonly whileFrozen?: true
      /** Whether the move leaves final statuses, because the world changed after the order had ended. */
      readonly afterEnd?: true
    }
  /** Makes the move at the order's `expiresAt`. `job` is the action in the audit log. */
  | { readonly by: 'clock'; readonly job: string }
  /** `sandbox` makes the move when a sandbox workspace is reset. */
  | { readonly by: 'member' | 'sandbox' }
)

/** A column of an exported order: text, or an amount in minor units whose currency is in another field. */
export interface OrderColumn {
  readonly name: string
  /** The field in the data. Default: `name`. */
  readonly from?: string
  readonly currencyIn?: string
  /** The field to subtract from `from` if the data has no field `name`. */
  readonly minus?: string
  /** The field in which a later move stores another value. */
  readonly correctedBy?: string
  /** Default: a column with `currencyIn` is a decimal. */
  readonly kind?: 'decimal'
  /** Whether only the workspace that created the order can read it. */
  readonly isPrivate?: true
}

/** What is declared once for all orders of a type. `orderType` creates it. */
export interface LifeCycle extends OrderTypeDeclaration {
  readonly name: string
  readonly statuses: CodedFamily
  /** Filters of lists and exports. A filter with the name of `statuses` selects orders by status. */
  readonly filters: z.ZodRawShape
  readonly moves: Readonly<Record<string, Move>>
  /** Names of the wallets in replies and exports. */
  readonly wallets: { readonly source?: string; readonly target?: string }
  readonly columns: readonly OrderColumn[]
}

export function isLifeCycle(value: unknown): value is LifeCycle {
  return typeof value === 'object' && value !== null && 'moves' in value && 'statuses' in value && 'columns' in value
}

/** Returns the statuses in which an order waits for a move. */
export function waitingStatuses({ moves, statuses }: LifeCycle): string[] {
  const reached = endsOf({ moves })
  return statuses.codes.filter((code) => reached.has(code) && !isFinal(moves, code))
}

export interface Expiry {
  from: string
  to: string
  holds: Move['holds']
  job: string
}

/** Returns the status from which an order expires, its status after the expiry, and what happens to its holds. */
export function expiryOf({ moves }: Pick<LifeCycle, 'moves'>): Expiry | undefined {
  for (const move of Object.values(moves)) {
    const [from] = move.from
    if (move.by === 'clock' && from !== undefined) return { from, to: move.to[0], holds: move.holds, job: move.job }
  }
  return undefined
}

/** Returns the changes of status by the moves with `afterEnd`. */
export function corrections({ moves }: Pick<LifeCycle, 'moves'>): { from: string; to: string }[] {
  return Object.values(moves)
    .filter(isAfterEnd)
    .flatMap((move) => move.from.map((from) => ({ from, to: lastOf(move) })))
}

/** Returns the data fields that a move sets after the order was created. */
export function fieldsSetLater({ moves }: Pick<LifeCycle, 'moves'>): ReadonlySet<string> {
  return new Set(Object.values(moves).flatMap(({ reason, sets = [] }) => (reason ? [reason, ...sets] : sets)))
}

/** Returns the status in which a move leaves an order. */
export function lastOf({ to }: Move): string {
  return to[to.length - 1] ?? to[0]
}

/** Returns the statuses in which the moves leave an order. */
export function endsOf({ moves }: Pick<LifeCycle, 'moves'>): ReadonlySet<string> {
  return new Set(Object.values(moves).map(lastOf))
}

/** Returns the statuses that an order can leave, and those that it never leaves. */
export function statusesOf({ statuses, moves }: Pick<LifeCycle, 'statuses' | 'moves'>) {
  const ends = endsOf({ moves })
  const final = statuses.codes.filter((code) => ends.has(code) && isFinal(moves, code))
  return { open: statuses.codes.filter((code) => !final.includes(code)), final }
}

/**
 * Returns what is wrong with a life cycle: a move from a status that no order has, a status from which no path ends or
 * that a sandbox cannot leave, holds that stay open or never existed, and more than one expiry.
 */
export function lifeCycleErrors(type: Pick<LifeCycle, 'statuses' | 'moves'>): string[] {
  const { held, errors } = followHolds(type)
  const all = Object.entries(type.moves)
  const { final } = statusesOf(type)
  for (const [name, { from }] of all)
    for (const status of from) if (!held.has(status)) errors.push(`${name}: no order waits in ${status}`)
  for (const [name, move] of all)
    for (const status of move.from)
      if (final.includes(status) !== isAfterEnd(move))
        errors.push(`${name}: ${status} is ${final.includes(status) ? 'final' : 'not final'}`)
  const ending = new Set(final)
  for (const _ of all)
    for (const [, move] of all)
      if (move.by !== 'sandbox' && ending.has(lastOf(move))) for (const status of move.from) ending.add(status)
  for (const status of held.keys()) {
    if (!ending.has(status)) errors.push(`no path from ${status} ends`)
    if (!final.includes(status) && !all.some(([, { by, from }]) => by === 'sandbox' && from.includes(status)))
      errors.push(`no move by sandbox leaves ${status}`)
  }
  const expiries = all.filter(([, { by }]) => by === 'clock')
  for (const [name, { from, to }] of expiries)
    if (expiries.length > 1 || from.length !== 1 || to.length !== 1)
      errors.push(`${name}: an order type has at most one move by clock, between two statuses`)
  return errors
}

/** Returns whether the orders in each status hold funds, with an error for each move that contradicts it. */
function followHolds(type: Pick<LifeCycle, 'statuses' | 'moves'>) {
  const errors: string[] = []
  const held = new Map<string, boolean>()
  const all = Object.entries(type.moves)
  const { final } = statusesOf(type)
  const enter = (name: string, move: Move, before: boolean): void => {
    const { holds } = move
    const status = lastOf(move)
    if (holds !== undefined && (holds === 'HELD') === before)
      errors.push(`${name}: ${holds} ${before ? 'again' : 'without a hold'}`)
    const after = holds === undefined ? before : holds === 'HELD'
    const known = held.get(status)
    if (known !== undefined && known !== after) errors.push(`${name}: ${status} with and without a hold`)
    if (after && final.includes(status)) errors.push(`${name}: ${status} is final and keeps the hold`)
    if (known !== undefined) return
    held.set(status, after)
    for (const [next, move] of all) if (move.from.includes(status)) enter(next, move, after)
  }
  for (const [name, move] of all) if (move.from.length === 0) enter(name, move, false)
  return { held, errors }
}

function isAfterEnd(move: Move): boolean {
  return move.by === 'operator' && move.afterEnd === true
}

function isFinal(moves: LifeCycle['moves'], status: string): boolean {
  return !Object.values(moves).some((move) => move.by !== 'sandbox' && !isAfterEnd(move) && move.from.includes(status))
}
