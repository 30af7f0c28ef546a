import { eventTypeOf } from '../../contract/events/event.ts'
import { fallbackLocale, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { walletOfRecord } from './store.ts'
import { toWalletView } from './view.ts'

export function walletEvents(words: Words): EventMapper {
  return {
    source: 'ledger_accounts',
    toEvents: async ({ new: account }, tx) => {
      const wallet = await walletOfRecord(tx, account)
      // The other accounts belong to the house.
      if (!wallet) return []
      const { bizId: subject, workspaceBizId: workspaceId, status } = wallet
      const data = toWalletView(wallet, { workspace: workspaceId, words, locale: fallbackLocale })
      return [{ type: eventTypeOf('wallet', status), subject, workspaceId, forOperators: true, data }]
    },
  }
}
