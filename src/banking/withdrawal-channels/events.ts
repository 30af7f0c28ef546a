import { eventTypeOf } from '../../contract/events/event.ts'
import { fallbackLocale, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { channelOfRecord } from './store.ts'
import { toChannelView } from './view.ts'

export function channelEvents(words: Words): EventMapper {
  return {
    source: 'withdrawal_channels',
    toEvents: async ({ new: record }, tx) => {
      const channel = await channelOfRecord(tx, record)
      const { bizId: subject, workspaceBizId: workspaceId, channelStatus } = channel
      const data = toChannelView(channel, { workspace: workspaceId, words, locale: fallbackLocale })
      const type = eventTypeOf('withdrawal_channel', channelStatus)
      return [{ type, subject, workspaceId, forOperators: true, data }]
    },
  }
}
