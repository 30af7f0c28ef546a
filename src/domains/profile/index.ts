import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import type { ProfilePorts } from './service.ts'

/*
 * The profile of the signed-in account, at both portals. The table of accounts belongs to identity. Start reading in
 * `service.ts`; `contract.ts` has the view, which `operators` uses, too.
 */

/** Builds the domain. */
export const createProfile = (ports: ProfilePorts & { words: Words }): { handlers: HandlerTable } => ({
  handlers: createHandlers(ports),
})

export default domain({ name: 'profile', ...declaredBy(contract), create: createProfile })
