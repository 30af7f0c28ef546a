import { declaredBy, domain } from '../../api/domain.ts'
import type { HandlerTable, Words } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'
import { migrations } from './schema.ts'
import type { InvitationPorts } from './service.ts'

/*
 * Invitations to a workspace. A member offers a role to an e-mail address, and the account with that verified address
 * accepts or declines. Start reading in `service.ts`; the limits are in `rules.ts`.
 */

export type { InvitationPorts } from './service.ts'

/** Builds the domain. */
export const createInvitations = (ports: InvitationPorts & { words: Words }): { handlers: HandlerTable } => ({
  handlers: createHandlers(ports),
})

export default domain({
  name: 'invitations',
  ...declaredBy(contract),
  migrations,
  uses: ['members'],
  create: ({ use, signInUrl, configuration, ...ports }) =>
    createInvitations({
      ...ports,
      members: use('members').memberships,
      portalUrl: signInUrl('CONSUMER'),
      settings: configuration.access.invitations,
    }),
})
