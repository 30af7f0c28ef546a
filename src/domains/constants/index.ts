import type { HandlerTable } from '../../kernel/index.ts'
import { isCountry } from './countries.ts'
import { createHandlers } from './handlers.ts'

export const createConstants = (): { handlers: HandlerTable; isCountry(alpha2: string): boolean } => ({
  handlers: createHandlers(),
  isCountry,
})
