/**
 * Transfers between wallets. A transfer moves the funds immediately, or holds them until an operator approves it. Start
 * reading in `contract.ts` and `service.ts`. `order.ts` maps a transfer to an order of the ledger.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import * as contract from './contract.ts'
import { transferHandlers } from './handlers.ts'
import { parseTransferRules, type TransferSettings } from './rules.ts'

export interface TransfersOptions extends TransferSettings {
  ledger: Ledger
  words: Words
}

/** Builds the domain. Throws a RangeError for an invalid amount in the settings. */
export const createTransfers = ({ ledger, words, ...settings }: TransfersOptions): { handlers: HandlerTable } => ({
  handlers: transferHandlers({ ledger, rules: parseTransferRules(settings) }, words),
})

export default domain({
  name: 'transfers',
  ...declaredBy(contract),
  uses: ['wallets'],
  create: ({ ledger, words, configuration: { money } }) =>
    createTransfers({ ledger, words, fixedFee: money.transferFee, approvalThreshold: money.transferApprovalFrom }),
})
