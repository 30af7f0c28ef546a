import type { HandlerTable, Words } from '../../kernel/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import { transferHandlers } from './handlers.ts'
import { checkRules, type TransferRules } from './rules.ts'

export interface TransfersOptions extends TransferRules {
  ledger: Ledger
  words: Words
}

export const createTransfers = ({ ledger, words, ...rules }: TransfersOptions): { handlers: HandlerTable } => {
  checkRules(rules)
  return { handlers: transferHandlers({ ledger, rules }, words) }
}
