import { declaredBy, domain } from '../../api/domain.ts'
import { days, type HandlerTable, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import * as contract from './contract.ts'
import { expiryJob, invitationEvents } from './events.ts'
import { createHandlers } from './handlers.ts'
import { invitationSettings } from './rules.ts'
import { migrations } from './schema.ts'
import { type InvitationPorts, suspendInvitations } from './service.ts'

/*
 * Invitations to a workspace. A member offers a role to an email address, and the account with that verified address
 * accepts or declines. Start reading in `service.ts`.
 */

export type { InvitationPorts } from './service.ts'

export function createInvitations(ports: InvitationPorts & { words: Words }): {
  handlers: HandlerTable
  events: EventMapper[]
} {
  return {
    handlers: createHandlers(ports),
    events: [invitationEvents(ports.words)],
  }
}

export default domain({
  name: 'invitations',
  ...declaredBy(contract),
  locales: new URL('./locales/', import.meta.url),
  mails: {
    directory: new URL('./mails/', import.meta.url),
    templates: { 'workspace-invitation': ['inviter', 'workspace', 'role', 'message', 'days', 'url'] },
  },
  migrations,
  settings: invitationSettings,
  settingsKey: 'access.invitations',
  defaults: { lifeMs: days(7), maxPending: 200, maxPerDay: 200, maxPerDayToAddress: 5 },
  uses: ['members'],
  needs: ['accounts', 'clock', 'database', 'ids', 'mailer', 'sessions', 'signInUrl', 'transaction', 'words'],
  create: ({ use, accounts, sessions, ...ports }) => {
    const parts = createInvitations({
      ...ports,
      members: use('members').memberships,
      notices: use('members').notices,
      assertSessionOpen: sessions.assertOpen,
      isRefusedEmail: accounts.isRefusedEmail,
    })
    return { ...parts, jobs: [expiryJob(ports)], onAccountRecovered: suspendInvitations }
  },
})
