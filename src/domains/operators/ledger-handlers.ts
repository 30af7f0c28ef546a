import type { OpenDatabase } from '../../database/index.ts'
import {
  bizId,
  type Clock,
  createHandlerTable,
  formatMoney,
  type HandlerTable,
  notFound,
  type OrderId,
  toIso,
} from '../../kernel/index.ts'
import type { Ledger, Posting } from '../../ledger/index.ts'
import * as contract from './contract.ts'

/** A sandbox has one account per currency in place of all of the house's. */
const nameOf = ({ kind, workspace, amount }: Posting): string => {
  if (kind === 'WALLET') return kind
  return `${workspace === null ? kind : 'SANDBOX'}:${amount.currency}`
}

const render = (posting: Posting, orderBizId: OrderId, orderType: string) => {
  return {
    bizId: posting.bizId,
    orderType,
    orderBizId,
    ledgerAccount: nameOf(posting),
    walletBizId: posting.kind === 'WALLET' ? posting.account : null,
    amount: formatMoney(posting.amount),
    currency: posting.amount.currency,
    createdAt: toIso(posting.createdAt),
  }
}

export interface LedgerPorts extends Pick<OpenDatabase, 'patiently'> {
  ledger: Ledger
  clock: Clock
}

/** Reads all of the book, which takes as long as that is big: whoever asks meanwhile is told of the same check. */
const checkTogether = ({ ledger, clock, patiently }: LedgerPorts) => {
  const check = async () => {
    const checkedAt = toIso(clock.now())
    const found = await patiently((database) => ledger.within(database).checkBook())
    const checks = found.map(({ name, violations }) => ({ name, holds: violations === 0, violations }))
    return { holds: checks.every((each) => each.holds), checkedAt, checks }
  }
  let underWay: ReturnType<typeof check> | undefined
  return (): ReturnType<typeof check> => {
    underWay ??= check().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

export const ledgerHandlers = (ports: LedgerPorts): HandlerTable => {
  const { ledger } = ports
  return createHandlerTable(contract, {
    checkLedgerInvariants: checkTogether(ports),
    listOrderPostings: async ({ params }) => {
      const id = bizId<'order'>(params.order_id)
      // An order without postings exists all the same.
      const type = await ledger.readOrderType(id)
      if (!type) throw notFound('no such order')
      return (await ledger.listPostings(id)).map((posting) => render(posting, id, type))
    },
  })
}
