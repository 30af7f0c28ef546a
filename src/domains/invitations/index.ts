import type { HandlerTable, Words } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import type { InvitationPorts } from './service.ts'

/*
 * Invitations to a workspace: members offer a role to an e-mail address, and its verified owner answers. Start reading in
 * `service.ts`; the daily limits are in `rules.ts`.
 */

export type { InvitationPorts } from './service.ts'

export const createInvitations = (ports: InvitationPorts & { words: Words }): { handlers: HandlerTable } => ({
  handlers: createHandlers(ports),
})
