/** A wallet is its place in the lists; amounts are minor units. */
export interface Transfer {
  from: number
  to: number
  amount: bigint
}

export type Command =
  | ({ kind: 'send' } & Transfer)
  | { kind: 'approve' | 'reject'; order: string }
  | { kind: 'freeze' | 'unfreeze'; wallet: number }

/** What a command was answered: the code of its refusal or `none`, and the order that it made. */
export interface Outcome {
  command: Command
  answer: string
  order: string
}

export interface Terms {
  fee: bigint
  /** From so much on an operator decides. */
  limit: bigint
}

/** The whole book in plain numbers. */
export interface State {
  owned: readonly bigint[]
  held: readonly bigint[]
  frozen: readonly boolean[]
  fees: bigint
  pending: ReadonlyMap<string, Transfer>
}

export const opened = (wallets: number, funds: bigint): State => ({
  owned: Array.from({ length: wallets }, () => funds),
  held: Array.from({ length: wallets }, () => 0n),
  frozen: Array.from({ length: wallets }, () => false),
  fees: 0n,
  pending: new Map(),
})

const plus = (list: readonly bigint[], at: number, by: bigint): bigint[] =>
  list.map((each, place) => (place === at ? each + by : each))

const paid = (state: State, { from, to, amount }: Transfer, { fee }: Terms): State => ({
  ...state,
  owned: plus(plus(state.owned, from, -amount - fee), to, amount),
  fees: state.fees + fee,
})

const freed = (state: State, order: string, { from, amount }: Transfer, { fee }: Terms): State => ({
  ...state,
  held: plus(state.held, from, -amount - fee),
  pending: new Map([...state.pending].filter(([id]) => id !== order)),
})

const sent = (state: State, order: string, transfer: Transfer, terms: Terms): string | State => {
  const { from, to, amount } = transfer
  const charged = amount + terms.fee
  if (from === to) return 'VALIDATION.INVALID_PARAMETER'
  if (state.frozen[from] || state.frozen[to]) return 'WALLET.NOT_ACTIVE'
  if ((state.owned[from] ?? 0n) - (state.held[from] ?? 0n) < charged) return 'WALLET.INSUFFICIENT_FUNDS'
  if (amount < terms.limit) return paid(state, transfer, terms)
  return { ...state, held: plus(state.held, from, charged), pending: new Map([...state.pending, [order, transfer]]) }
}

const decided = (state: State, kind: 'approve' | 'reject', order: string, terms: Terms): string | State => {
  const transfer = state.pending.get(order)
  if (!transfer) return 'STATE.CONFLICT'
  if (kind === 'reject') return freed(state, order, transfer, terms)
  if (state.frozen[transfer.from] || state.frozen[transfer.to]) return 'WALLET.NOT_ACTIVE'
  return paid(freed(state, order, transfer, terms), transfer, terms)
}

/** What a command leads to, or is refused with. */
const after = (state: State, { command, order }: Outcome, terms: Terms): string | State => {
  if (command.kind === 'send') return sent(state, order, command, terms)
  if ('order' in command) return decided(state, command.kind, command.order, terms)
  const frozen = command.kind === 'freeze'
  if (state.frozen[command.wallet] === frozen) return 'STATE.CONFLICT'
  return { ...state, frozen: state.frozen.map((each, place) => (place === command.wallet ? frozen : each)) }
}

/**
 * Where commands that ran at once have led to, by an order, one after the other, in which each has the answer that it
 * was given; undefined where there is none.
 */
export const explained = (state: State, at: readonly Outcome[], terms: Terms): State | undefined => {
  if (at.length === 0) return state
  for (const one of at) {
    const next = after(state, one, terms)
    const isAnswer = typeof next === 'string' ? next === one.answer : one.answer === 'none'
    if (!isAnswer) continue
    const others = at.filter((each) => each !== one)
    const found = explained(typeof next === 'string' ? state : next, others, terms)
    if (found) return found
  }
  return undefined
}
