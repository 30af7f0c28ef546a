import * as contract from '../../contract/operator-ledger.ts'
import {
  type Clock,
  formatMoney,
  type HandlerTable,
  handlerTable,
  idInPath,
  notFound,
  type OrderId,
  toIso,
} from '../../kernel/index.ts'
import type { Ledger, Posting } from '../../ledger/index.ts'

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

export const ledgerHandlers = (ledger: Ledger, clock: Clock): HandlerTable =>
  handlerTable(contract, {
    checkLedgerInvariants: async () => {
      const checkedAt = toIso(clock.now())
      const checks = (await ledger.checkBook()).map(({ name, violations }) => ({
        name,
        holds: violations === 0,
        violations,
      }))
      return { holds: checks.every((check) => check.holds), checkedAt, checks }
    },
    listOrderPostings: async ({ params }) => {
      const id = idInPath<'order'>(params.order_id)
      // An order without postings exists all the same.
      const type = await ledger.readOrderType(id)
      if (!type) throw notFound('no such order')
      return (await ledger.listPostings(id)).map((posting) => render(posting, id, type))
    },
  })
