import type { HandlerTable, Words } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import type { InvitationPorts } from './ports.ts'
import { createService } from './service.ts'

export type { InvitationPorts } from './ports.ts'

export const createInvitations = (ports: InvitationPorts & { words: Words }): { handlers: HandlerTable } => ({
  handlers: createHandlers(createService(ports), ports.words),
})
