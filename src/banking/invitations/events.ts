import { eventTypeOf } from '../../contract/events/event.ts'
import { type Clock, fallbackLocale, minutes, untilNotFull, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { expireInvitations, invitationOfRecord } from './store.ts'
import { toInvitationView } from './view.ts'

export function invitationEvents(words: Words): EventMapper {
  return {
    source: 'invitations',
    toEvents: async ({ new: record }, tx) => {
      const invitation = await invitationOfRecord(tx, record)
      const { bizId: subject, workspaceBizId: workspaceId, invitationStatus } = invitation
      const data = toInvitationView(words, invitation, fallbackLocale)
      return [{ type: eventTypeOf('invitation', invitationStatus), subject, workspaceId, forOperators: true, data }]
    },
  }
}

const batchSize = 100

/** Reads show an expired invitation as such before this job has recorded it. The record makes the event. */
export function expiryJob(ports: Parameters<typeof expireInvitations>[0] & { clock: Clock }): JobKind {
  return {
    name: 'invitations.expire',
    attempts: 1,
    everyMs: minutes(1),
    work: (_, { signal }) =>
      untilNotFull(batchSize, signal, (limit) => expireInvitations(ports, ports.clock.now(), limit)),
  }
}
