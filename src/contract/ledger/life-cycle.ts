import type { CodedFamily, Permission } from '../../kernel/index.ts'

/** A change of an order's status. */
export type Move<Status extends string = string> = {
  /** Statuses that the order can leave by this move. Empty if the move creates the order. */
  readonly from: readonly Status[]
  /** Statuses that the order enters one after another. It stays in the last one. */
  readonly to: readonly [Status, ...Status[]]
  /** What happens to the funds that the order holds. `HELD` reserves them, `CAPTURED` spends them. */
  readonly holds?: 'HELD' | 'RELEASED' | 'CAPTURED'
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
    }
  /** `clock` makes the move at the order's `expiresAt`, and `sandbox` when a sandbox workspace is reset. */
  | { readonly by: 'member' | 'clock' | 'sandbox' }
)

/** A column of an exported order: text, or an amount in minor units whose currency is in another field. */
export interface OrderColumn {
  readonly name: string
  /** The field in the data. Default: `name`. */
  readonly from?: string
  readonly currencyIn?: string
  /** The field to subtract from `from` if the data has no field `name`. */
  readonly minus?: string
  /** Default: a column with `currencyIn` is a decimal. */
  readonly kind?: 'decimal'
  /** Whether only the workspace that created the order can read it. */
  readonly isPrivate?: true
}

/** What is declared once for all orders of a type. `orderType` creates it. */
export interface LifeCycle {
  readonly name: string
  readonly statuses: CodedFamily
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
  const reached = new Set(Object.values(moves).map(({ to }) => to.at(-1)))
  return statuses.codes.filter((code) => reached.has(code) && !isFinal(moves, code))
}

/** Returns the status from which an order expires, and its status after the expiry. */
export function expiryOf({ moves }: Pick<LifeCycle, 'moves'>): { from: string; to: string } | undefined {
  const move = Object.values(moves).find(({ by }) => by === 'clock')
  const [from] = move?.from ?? []
  return move && from !== undefined ? { from, to: move.to[0] } : undefined
}

/** Returns the data fields that a move sets after the order was created. */
export function fieldsSetLater({ moves }: Pick<LifeCycle, 'moves'>): ReadonlySet<string> {
  return new Set(Object.values(moves).flatMap(({ reason, sets = [] }) => (reason ? [reason, ...sets] : sets)))
}

/** Returns the statuses that an order can leave, and those that it never leaves. */
export function statusesOf({ statuses, moves }: Pick<LifeCycle, 'statuses' | 'moves'>) {
  const ends = new Set(Object.values(moves).map(({ to }) => to.at(-1)))
  const final = statuses.codes.filter((code) => ends.has(code) && isFinal(moves, code))
  return { open: statuses.codes.filter((code) => !final.includes(code)), final }
}

/**
 * Returns what is wrong with a life cycle: a move from a status that no order has, a status that a sandbox cannot leave,
 * and holds that stay open or never existed.
 */
export function lifeCycleErrors({ statuses, moves }: Pick<LifeCycle, 'statuses' | 'moves'>): string[] {
  const errors: string[] = []
  const all = Object.entries(moves)
  const { final } = statusesOf({ statuses, moves })
  /** Whether an order in a status holds funds. */
  const held = new Map<string, boolean>()
  const enter = (name: string, { to, holds }: Move, before: boolean): void => {
    const status = to[to.length - 1] ?? to[0]
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
  for (const [name, { from }] of all)
    for (const status of from) if (!held.has(status)) errors.push(`${name}: no order waits in ${status}`)
  for (const status of held.keys())
    if (!final.includes(status) && !all.some(([, { by, from }]) => by === 'sandbox' && from.includes(status)))
      errors.push(`no move by sandbox leaves ${status}`)
  return errors
}

function isFinal(moves: LifeCycle['moves'], status: string): boolean {
  return !Object.values(moves).some(({ by, from }) => by !== 'sandbox' && from.includes(status))
}
