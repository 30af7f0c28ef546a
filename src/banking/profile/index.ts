import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import type { ProfilePorts } from './service.ts'

/**
 * The profile of the signed-in account, at both portals. Identity owns the accounts table. Start reading in
 * `service.ts`.
 */

export function createProfile(ports: ProfilePorts & { words: Words }): { handlers: HandlerTable } {
  return {
    handlers: createHandlers(ports),
  }
}

export default domain({
  name: 'profile',
  ...declaredBy(contract),
  needs: ['database', 'isCountry', 'parsePhone', 'transaction', 'words'],
  create: createProfile,
})
