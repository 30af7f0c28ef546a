/**
 * Transfers between wallets. A transfer moves the funds immediately, or holds them until an operator approves it. Start
 * reading in `contract.ts` and `handlers.ts`.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers, type TransfersPorts } from './handlers.ts'
import { checkTransferSettings, parseTransferRules, type TransferSettings, transferSettings } from './rules.ts'

export interface TransfersOptions extends TransferSettings, Omit<TransfersPorts, 'rules'> {}

/** Throws a RangeError for an invalid amount in the settings. */
export function createTransfers({ ledger, words, assertNotHeld, ...settings }: TransfersOptions): {
  handlers: HandlerTable
} {
  return {
    handlers: createHandlers({ ledger, words, assertNotHeld, rules: parseTransferRules(settings) }),
  }
}

export default domain({
  name: 'transfers',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  settings: transferSettings,
  settingsKey: 'money',
  defaults: { transferFee: {}, transferApprovalFrom: {} },
  checkSettings: checkTransferSettings,
  uses: ['wallets', 'members'],
  needs: ['database', 'ledger', 'words'],
  create: ({ database, ledger, words, use, settings }) => {
    const { memberships } = use('members')
    return createTransfers({
      ledger,
      words,
      assertNotHeld: (member, at, isExempt) =>
        memberships.assertNotHeld(database, member, ['transfer:create'], at, isExempt),
      fixedFee: settings.transferFee,
      approvalThreshold: settings.transferApprovalFrom,
    })
  },
})
