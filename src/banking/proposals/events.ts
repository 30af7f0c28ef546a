import { eventTypeOf } from '../../contract/events/event.ts'
import { fallbackLocale, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { proposalOfRecord } from './store.ts'
import { toProposalView } from './view.ts'

export function proposalEvents(words: Words): EventMapper {
  return {
    source: 'operator_proposals',
    toEvents: async ({ new: record, at }, tx) => {
      const proposal = await proposalOfRecord(tx, record)
      const { id: subject, status } = proposal
      const data = toProposalView(words, proposal, at, fallbackLocale)
      return [{ type: eventTypeOf('proposal', status), subject, workspaceId: null, forOperators: true, data }]
    },
  }
}
