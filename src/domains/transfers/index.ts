import type { HandlerTable, Words } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { transferHandlers } from './handlers.ts'
import { type AmountsByCurrency, checkRules } from './rules.ts'

export interface TransfersOptions {
  ledger: Ledger
  words: Words
  /** From this amount on (decimal string by currency), an operator has to agree. */
  approvalThreshold?: AmountsByCurrency
  /** What a transfer costs its sender, on top (decimal string by currency). */
  fixedFee?: AmountsByCurrency
}

export const createTransfers = (options: TransfersOptions): { handlers: HandlerTable } => {
  const { ledger, words, approvalThreshold = {}, fixedFee = {} } = options
  const rules = { approvalThreshold, fixedFee }
  checkRules(rules)
  return { handlers: transferHandlers({ ledger, rules }, words) }
}
