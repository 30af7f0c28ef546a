import type { OpenDatabase } from '../../database/index.ts'
import { assertFound, type Clock, type Instant, type OrderId } from '../../kernel/index.ts'
import type { Ledger, Posting } from '../../ledger/index.ts'

export interface LedgerPorts extends Pick<OpenDatabase, 'withoutTimeouts'> {
  ledger: Ledger
  clock: Clock
}

export interface LedgerReport {
  checkedAt: Instant
  checks: { name: string; violations: number }[]
}

/** A check can take minutes, so concurrent calls share one. */
export class LedgerCheck {
  readonly #ports: LedgerPorts
  #running: Promise<LedgerReport> | undefined

  constructor(ports: LedgerPorts) {
    this.#ports = ports
  }

  run(): Promise<LedgerReport> {
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #check(): Promise<LedgerReport> {
    const { ledger, clock, withoutTimeouts } = this.#ports
    const checkedAt = clock.now()
    const found = await withoutTimeouts((database) => ledger.within(database).checkInvariants())
    return { checkedAt, checks: found.map(({ name, violations }) => ({ name, violations })) }
  }
}

/** Throws RESOURCE.NOT_FOUND for an unknown order. */
export async function listOrderPostings(
  { ledger }: Pick<LedgerPorts, 'ledger'>,
  id: OrderId,
): Promise<{ orderType: string; postings: readonly Posting[] }> {
  const orderType = assertFound(await ledger.readOrderType(id), 'no such order')
  return { orderType, postings: await ledger.listPostings(id) }
}
