/**
 * The feed of events. The platform records and orders them (src/platform/events); this domain shows each reader the types
 * that it can read. Start reading in `contract.ts` and `handlers.ts`.
 */
import { declaredBy, domain } from '../../api/domain.ts'
import * as contract from './contract.ts'
import { createHandlers } from './handlers.ts'

export default domain({
  name: 'events',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  needs: ['events'],
  create: ({ events }) => ({ handlers: createHandlers({ events }) }),
})
