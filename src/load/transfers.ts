import { isPorticoError } from '../client/index.ts'
import { formatMoney, type Ids, type Randomness } from '../kernel/index.ts'
import type { Actor } from './accounts.ts'
import { type PlannedRequest, pick, planTransfer, smallAmount, type TransferTerms, type Wallet } from './scenarios.ts'

/** The outcome of a command. `unknown`: no usable response arrived, so the gateway may or may not have executed it. */
type Outcome =
  | { kind: 'acknowledged'; orderId: string; isCompleted: boolean }
  | { kind: 'refused' }
  | { kind: 'unknown' }

/** A transfer that was sent. */
export interface Command {
  actor: Actor
  terms: TransferTerms
  outcome: Outcome
}

interface Source {
  actor: Actor
  wallet: Wallet
}

/** Chooses the wallets of transfers, and remembers each command for the checks. */
export class TransferBook {
  readonly commands: Command[] = []
  private readonly sources: readonly Source[]
  private readonly wallets: readonly Wallet[]
  /** Minor units that each wallet can still send, by wallet id. */
  private readonly funds: Map<string, bigint>
  private readonly ports: { ids: Ids; randomness: Randomness }

  constructor(
    actors: readonly Actor[],
    balances: ReadonlyMap<string, bigint>,
    ports: { ids: Ids; randomness: Randomness },
  ) {
    this.ports = ports
    this.funds = new Map(balances)
    this.sources = actors.flatMap((actor) => actor.wallets.map((wallet) => ({ actor, wallet })))
    this.wallets = [...new Map(this.sources.map(({ wallet }) => [wallet.bizId, wallet])).values()]
  }

  private targetsOf({ bizId, currency }: Wallet): Wallet[] {
    return this.wallets.filter((each) => each.currency === currency && each.bizId !== bizId)
  }

  /** Returns the wallets with funds for a transfer to another wallet of the same currency. */
  private possibleSources(): Source[] {
    const minimum = 10_000n
    return this.sources.filter(
      ({ wallet }) => (this.funds.get(wallet.bizId) ?? 0n) >= minimum && this.targetsOf(wallet).length > 0,
    )
  }

  /** Throws an error if no transfer is possible. */
  assertPossible(): void {
    if (this.possibleSources().length > 0) return
    throw new Error(
      'no transfer is possible: the accounts need two wallets in one currency, one of them with 10,000 minor units',
    )
  }

  /** Plans a transfer, which must be sent with `execute`. */
  plan(seal: boolean): { actor: Actor; request: PlannedRequest; command: Command } {
    const { ids, randomness } = this.ports
    const { actor, wallet: source } = pick(this.possibleSources(), randomness)
    const target = pick(this.targetsOf(source), randomness)
    const amount = smallAmount(source.currency, randomness)
    const terms = { source, target, amount, clientReference: `load-${ids.next()}` }
    const command: Command = { actor, terms, outcome: { kind: 'unknown' } }
    this.commands.push(command)
    this.addFunds(source, -amount.minor)
    const request = planTransfer(actor, terms, { requestId: ids.next(), seal }, ({ bizId, status }) => {
      command.outcome = { kind: 'acknowledged', orderId: bizId, isCompleted: status === 'COMPLETED' }
      this.addFunds(target, amount.minor)
    })
    return { actor, request, command }
  }

  /** Records the error of a command. */
  fail(command: Command, error: unknown): void {
    if (!mayBeExecuted(error)) command.outcome = { kind: 'refused' }
  }

  private addFunds({ bizId }: Wallet, minor: bigint): void {
    this.funds.set(bizId, (this.funds.get(bizId) ?? 0n) + minor)
  }
}

/** Describes a command in a finding. */
export function describe({ actor, terms }: Command): string {
  return `${formatMoney(terms.amount)} ${terms.amount.currency} by ${actor.name} (${terms.clientReference})`
}

/** Whether a failed command may have been executed. */
function mayBeExecuted(error: unknown): boolean {
  return !isPorticoError(error) || error.status < 400 || error.status >= 500 || error.code === 'REQUEST.IN_PROGRESS'
}
