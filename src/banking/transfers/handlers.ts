import { waitingStatuses } from '../../contract/ledger/life-cycle.ts'
import {
  type AccountId,
  addMs,
  bizId,
  createHandlerTable,
  emptyPage,
  type HandlerTable,
  type Instant,
  mapPage,
  type Request,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { createOrders, type Ledger, UsageExceeded } from '../../ledger/index.ts'
import * as contract from './contract.ts'
import { approvedPostings, newTransfer } from './order.ts'
import { computeTerms, type TransferRules, type TransferTerms } from './rules.ts'
import { toTransferView } from './view.ts'

export interface TransfersPorts {
  ledger: Ledger
  rules: TransferRules
  /** Time to approve a transfer. */
  approvalLifeMs: number
  words: Words
  /** Throws ACCESS.PAYOUT_HOLD if the member gained the permission recently. isExempt runs only for such a member. */
  assertNotHeld(
    member: { accountId: AccountId; workspaceId: WorkspaceId },
    at: Instant,
    isExempt: () => Promise<boolean>,
  ): Promise<void>
}

type OperatorList = Request<typeof contract.listAllTransfers> | Request<typeof contract.listPendingTransfers>

export function createHandlers(ports: TransfersPorts): HandlerTable {
  const { ledger, rules, approvalLifeMs, words, assertNotHeld } = ports
  const orders = createOrders(contract.transfers, { ledger, words }, toTransferView)
  /** The filter by a workspace selects the transfers that it received, too. */
  const listForOperator = async (request: OperatorList, more: { statuses?: readonly string[] } = {}) => {
    const { workspaceId, ...query } = request.query
    const participant = workspaceId === undefined ? undefined : bizId<'workspace'>(workspaceId)
    const found = await orders.page(query, null, { participant, ...more })
    return mapPage(found, (order) => orders.showToOperator(order, request))
  }
  return createHandlerTable(contract, {
    listTransfers: orders.list,
    readTransfer: orders.read,

    createTransfer: orders.create(async ({ body }, context) => {
      const { actor: accountId, workspace: workspaceId } = context
      const { sourceWalletBizId, targetWalletBizId, amount, remark = null, clientReference = null } = body
      const wallets = { source: bizId<'wallet'>(sourceWalletBizId), target: bizId<'wallet'>(targetWalletBizId) }
      const input = { ...wallets, amount, remark, clientReference }
      const staysInside = async () =>
        (await ledger.readWallet({ wallet: input.target, workspace: workspaceId })) !== undefined
      await assertNotHeld({ accountId, workspaceId }, context.receivedAt, staysInside)
      const open = (terms: TransferTerms) =>
        orders.open(
          terms.needsApproval ? 'ask' : 'send',
          context,
          newTransfer(terms, context, addMs(ledger.now(), approvalLifeMs)),
        )
      const terms = computeTerms(input, rules)
      try {
        return await open(terms)
      } catch (error) {
        // An amount that completes without approval counts towards the threshold of the person's next transfers.
        if (!(error instanceof UsageExceeded)) throw error
        return open({ ...terms, needsApproval: true })
      }
    }),

    cancelTransfer: orders.move('cancel'),

    listWalletTransfers: async (request) => {
      const { params, query, workspace } = request
      const wallet = bizId<'wallet'>(params.wallet_id)
      if (!(await ledger.readWallet({ wallet, workspace: workspace.id }))) return emptyPage()
      const found = await orders.page({ ...query, walletId: wallet }, workspace.id)
      return mapPage(found, (order) => orders.show(order, request))
    },

    isTransferCompleted: async ({ params, workspace }) =>
      (await orders.find(bizId<'order'>(params.order_id), workspace.id)).status === 'COMPLETED',

    listAllTransfers: (request) => listForOperator(request),
    listPendingTransfers: (request) => listForOperator(request, { statuses: waitingStatuses(contract.transfers) }),

    readAnyTransfer: orders.readAny,

    approveTransfer: orders.move('approve', async (_, __, read) => approvedPostings(await read())),

    rejectTransfer: orders.move('reject', ({ body }) => ({ ...body, data: { failureCode: 'APPROVAL_REJECTED' } })),
  })
}
