import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  parseInstant,
  type Request,
  type Words,
} from '../../kernel/index.ts'
import { toListParameters, viewerOf } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import {
  changeWalletStatus,
  createWallet,
  listFlows,
  listWalletsOf,
  readBalance,
  readWallet,
  type WalletChange,
  type WalletsPorts,
} from './service.ts'
import { toBalanceView, toFlowView, toWalletView } from './view.ts'

type StatusRequest =
  | Request<typeof contract.freezeWallet>
  | Request<typeof contract.unfreezeWallet>
  | Request<typeof contract.closeWallet>

export function createHandlers(ports: WalletsPorts & { words: Words }): HandlerTable {
  const { words } = ports
  const changeStatus = async (request: StatusRequest, change: WalletChange['change']) => {
    const { params, body } = request
    const input = { wallet: bizId<'wallet'>(params.wallet_id), change, reason: body.reason }
    return toWalletView(await changeWalletStatus(ports, input, auditContextOf(request)), viewerOf(words, request))
  }

  return createHandlerTable(contract, {
    listWallets: async (request) => {
      const wallets = await ports.ledger.listWallets(request.workspace.id)
      return wallets.map((wallet) => toWalletView(wallet, viewerOf(words, request)))
    },

    listWalletsOf: async (request) => {
      const workspace = bizId<'workspace'>(request.params.workspace_id)
      const wallets = await listWalletsOf(ports, workspace)
      const maySeeBalances = request.caller.permissions.has('ledger:read')
      const asOf = ports.clock.now()
      const ids = wallets.map((wallet) => wallet.bizId)
      const balances = maySeeBalances ? await ports.ledger.listBalances({ wallets: ids, workspace }) : []
      const byWallet = new Map(balances.map((balance) => [balance.wallet, toBalanceView(balance, asOf)]))
      return wallets.map((wallet) => ({
        ...toWalletView(wallet, viewerOf(words, request)),
        balance: byWallet.get(wallet.bizId) ?? null,
      }))
    },

    createWallet: async (request) => {
      const { currency, walletName: name = currency } = request.body
      const context = { auditContext: auditContextOf(request), access: request.workspace }
      return toWalletView(await createWallet(ports, { currency, name }, context), viewerOf(words, request))
    },

    readWallet: async (request) => {
      const scope = { wallet: bizId<'wallet'>(request.params.wallet_id), workspace: request.workspace.id }
      return toWalletView(await readWallet(ports, scope), viewerOf(words, request))
    },

    readBalance: async ({ params, query, workspace }) => {
      const scope = { wallet: bizId<'wallet'>(params.wallet_id), workspace: workspace.id }
      const { balance, asOf } = await readBalance(ports, { ...scope, at: parseInstant(query.at) })
      return toBalanceView(balance, asOf)
    },

    listFlows: async (request) => {
      const { params, query, workspace } = request
      const scope = { wallet: bizId<'wallet'>(params.wallet_id), workspace: workspace.id }
      const { direction } = query
      const flowType = query.flowType === undefined ? undefined : ports.ledger.parseFlowType(query.flowType)
      const flows = await listFlows(ports, { ...toListParameters(query), ...scope, flowType, direction })
      return mapPage(flows, (flow) => toFlowView(flow, viewerOf(words, request)))
    },

    freezeWallet: (request) => changeStatus(request, 'freeze'),
    unfreezeWallet: (request) => changeStatus(request, 'unfreeze'),
    closeWallet: (request) => changeStatus(request, 'close'),
  })
}
