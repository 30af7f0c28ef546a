import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'

/*
 * Countries and time zones in every supported language. Uses no store and requires no sign-in. Start reading in
 * `countries.ts` and `timezones.ts`.
 */

export function createConstants(): { handlers: HandlerTable } {
  return { handlers: createHandlers() }
}

export default domain({ name: 'constants', ...declaredBy(contract), create: createConstants })
