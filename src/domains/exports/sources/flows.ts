import { formatMoney, type Instant, toIso } from '../../../kernel/index.ts'
import { type Flow, type FlowQuery, type Ledger, toFlowAmountView, type Wallet } from '../../../ledger/index.ts'
import { everyRow, type Row, type Source } from './source.ts'

const columns = [
  'bizId',
  'walletBizId',
  'sequence',
  'flowType',
  'direction',
  'amount',
  'currency',
  'balanceAfter',
  'orderType',
  'orderBizId',
  'description',
  'createdAt',
] as const

const rowOf = ({ bizId: walletBizId }: Wallet, flow: Flow): Row => ({
  bizId: flow.bizId,
  walletBizId,
  sequence: flow.sequence,
  flowType: flow.flowType,
  ...toFlowAmountView(flow),
  currency: flow.amount.currency,
  balanceAfter: formatMoney(flow.balanceAfter),
  orderType: flow.orderType,
  orderBizId: flow.orderBizId,
  description: flow.remark,
  createdAt: toIso(flow.createdAt),
})

type FlowExportRequest = Pick<FlowQuery, 'workspace' | 'flowType' | 'direction'> & {
  walletId: string | undefined
  from: Instant | undefined
  to: Instant | undefined
}

/** The flows of one wallet or of all, wallet by wallet, oldest first. */
export const flowSource = (ledger: Ledger, asked: FlowExportRequest, pageSize: number): Source => {
  async function* rows(): AsyncGenerator<Row> {
    const { walletId, from: start, ...query } = asked
    for (const wallet of await ledger.listWallets(asked.workspace)) {
      if (walletId !== undefined && wallet.bizId !== walletId) continue
      const ofWallet = { ...query, wallet: wallet.bizId, sortOrder: 'asc' } as const
      const flows = everyRow<Flow>((slice) => ledger.readFlows({ ...ofWallet, ...slice }), start, pageSize)
      for await (const flow of flows) yield rowOf(wallet, flow)
    }
  }
  return { columns, rows: rows() }
}
