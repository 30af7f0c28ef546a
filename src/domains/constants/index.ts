import type { HandlerTable } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'

/*
 * Countries and time zones in every supported language. Uses no store and requires no sign-in. Start reading in
 * `countries.ts` and `timezones.ts`; `handlers.ts` caches their lists.
 */

export { isCountry } from './countries.ts'

/** Builds the domain. */
export const createConstants = (): { handlers: HandlerTable } => ({ handlers: createHandlers() })
