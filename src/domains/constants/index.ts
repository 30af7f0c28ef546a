import type { HandlerTable } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'

/* The lists of countries and time zones, in every language. They need no store and no sign-in. */

export { isCountry } from './countries.ts'

export const createConstants = (): { handlers: HandlerTable } => ({ handlers: createHandlers() })
