import type { HandlerTable } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'

export { isCountry } from './countries.ts'

export const createConstants = (): { handlers: HandlerTable } => ({ handlers: createHandlers() })
