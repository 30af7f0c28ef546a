/* A model of the ledger. A wallet is its index in the lists; amounts are minor units. */

export interface Transfer {
  from: number
  to: number
  amount: bigint
}

export type Command =
  | ({ kind: 'send' } & Transfer)
  | { kind: 'approve' | 'reject'; order: string }
  | { kind: 'freeze' | 'unfreeze'; wallet: number }

/** The code of its refusal or `none`, and the order that it created. */
export interface Outcome {
  command: Command
  code: string
  order: string
}

export interface Terms {
  fee: bigint
  /** Transfers of at least this amount wait for an operator. */
  threshold: bigint
}

export interface State {
  totals: readonly bigint[]
  held: readonly bigint[]
  frozen: readonly boolean[]
  fees: bigint
  pending: ReadonlyMap<string, Transfer>
}

export function initialState(wallets: number, funds: bigint): State {
  return {
    totals: Array.from({ length: wallets }, () => funds),
    held: Array.from({ length: wallets }, () => 0n),
    frozen: Array.from({ length: wallets }, () => false),
    fees: 0n,
    pending: new Map(),
  }
}

function addAt(list: readonly bigint[], index: number, amount: bigint): bigint[] {
  return list.map((each, at) => (at === index ? each + amount : each))
}

function post(state: State, { from, to, amount }: Transfer, { fee }: Terms): State {
  return {
    ...state,
    totals: addAt(addAt(state.totals, from, -amount - fee), to, amount),
    fees: state.fees + fee,
  }
}

function release(state: State, order: string, { from, amount }: Transfer, { fee }: Terms): State {
  return {
    ...state,
    held: addAt(state.held, from, -amount - fee),
    pending: new Map([...state.pending].filter(([id]) => id !== order)),
  }
}

function send(state: State, order: string, transfer: Transfer, terms: Terms): string | State {
  const { from, to, amount } = transfer
  const charged = amount + terms.fee
  if (from === to) return 'VALIDATION.INVALID_PARAMETER'
  if (state.frozen[from] || state.frozen[to]) return 'WALLET.NOT_ACTIVE'
  if ((state.totals[from] ?? 0n) - (state.held[from] ?? 0n) < charged) return 'WALLET.INSUFFICIENT_FUNDS'
  if (amount < terms.threshold) return post(state, transfer, terms)
  return { ...state, held: addAt(state.held, from, charged), pending: new Map([...state.pending, [order, transfer]]) }
}

function decide(state: State, kind: 'approve' | 'reject', order: string, terms: Terms): string | State {
  const transfer = state.pending.get(order)
  if (!transfer) return 'STATE.CONFLICT'
  if (kind === 'reject') return release(state, order, transfer, terms)
  if (state.frozen[transfer.from] || state.frozen[transfer.to]) return 'WALLET.NOT_ACTIVE'
  return post(release(state, order, transfer, terms), transfer, terms)
}

function apply(state: State, { command, order }: Outcome, terms: Terms): string | State {
  if (command.kind === 'send') return send(state, order, command, terms)
  if ('order' in command) return decide(state, command.kind, command.order, terms)
  const frozen = command.kind === 'freeze'
  if (state.frozen[command.wallet] === frozen) return 'STATE.CONFLICT'
  return { ...state, frozen: state.frozen.map((each, index) => (index === command.wallet ? frozen : each)) }
}

/**
 * The state after a serial order of these commands in which each has its actual outcome. Undefined if there is none.
 */
export function serialize(state: State, outcomes: readonly Outcome[], terms: Terms): State | undefined {
  if (outcomes.length === 0) return state
  for (const outcome of outcomes) {
    const next = apply(state, outcome, terms)
    const isPossible = typeof next === 'string' ? next === outcome.code : outcome.code === 'none'
    if (!isPossible) continue
    const others = outcomes.filter((each) => each !== outcome)
    const found = serialize(typeof next === 'string' ? state : next, others, terms)
    if (found) return found
  }
  return undefined
}
