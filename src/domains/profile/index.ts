import type { HandlerTable, Words } from '../../kernel/index.ts'
import { createHandlers } from './handlers.ts'
import type { ProfilePorts } from './service.ts'

/* The profile of the signed-in account, at both portals. Start reading in `service.ts`. */

export const createProfile = (ports: ProfilePorts & { words: Words }): { handlers: HandlerTable } => ({
  handlers: createHandlers(ports),
})
