import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  notFound,
  parseInstant,
  type Request,
  type Words,
} from '../../kernel/index.ts'
import { listing } from '../../ledger/index.ts'
import { actOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import { renderBalance, renderFlow, renderWallet } from './render.ts'
import { balanceOf, changeStatus, type WalletChange, type WalletsPorts } from './service.ts'

type Changing =
  | Request<typeof contract.freezeWallet>
  | Request<typeof contract.unfreezeWallet>
  | Request<typeof contract.closeWallet>

export const walletHandlers = (ports: WalletsPorts, words: Words): HandlerTable => {
  const { ledger } = ports

  const found = async (scope: Parameters<typeof ledger.readWallet>[0]) => {
    const wallet = await ledger.readWallet(scope)
    if (!wallet) throw notFound('no such wallet')
    return wallet
  }

  const changing = async (request: Changing, change: WalletChange['change']) => {
    const { params, body } = request
    const asked = { wallet: bizId<'wallet'>(params.wallet_id), change, reason: body.reason }
    const wallet = await changeStatus(ports, asked, actOf(request))
    return renderWallet(wallet, { words, locale: request.locale })
  }

  return createHandlerTable(contract, {
    listWallets: async ({ workspace, locale }) => {
      const wallets = await ledger.listWallets(workspace.id)
      return wallets.map((wallet) => renderWallet(wallet, { words, locale }))
    },

    readWallet: async ({ params, workspace, locale }) =>
      renderWallet(await found({ wallet: bizId<'wallet'>(params.wallet_id), workspace: workspace.id }), {
        words,
        locale,
      }),

    readBalance: async ({ params, query, workspace }) => {
      const scope = { wallet: bizId<'wallet'>(params.wallet_id), workspace: workspace.id }
      const at = parseInstant(query.at)
      const { balance, asOf } = await balanceOf(ports, scope, at)
      return renderBalance(balance, asOf)
    },

    listFlows: async ({ params, query, workspace, locale }) => {
      const scope = { wallet: bizId<'wallet'>(params.wallet_id), workspace: workspace.id }
      await found(scope)
      const { flowType, direction } = query
      const flows = await ledger.listFlows({ ...listing(query), ...scope, flowType, direction })
      return mapPage(flows, (flow) => renderFlow(flow, { words, locale }))
    },

    freezeWallet: (request) => changing(request, 'freeze'),
    unfreezeWallet: (request) => changing(request, 'unfreeze'),
    closeWallet: (request) => changing(request, 'close'),
  })
}
