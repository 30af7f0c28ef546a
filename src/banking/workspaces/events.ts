import { eventTypeOf } from '../../contract/events/event.ts'
import { fallbackLocale, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { workspaceOfRecord } from './store.ts'
import { toWorkspaceView } from './view.ts'

export function workspaceEvents(words: Words): EventMapper {
  return {
    source: 'workspaces',
    toEvents: async ({ new: record }, tx) => {
      const workspace = await workspaceOfRecord(tx, record)
      const { id, status } = workspace
      const data = toWorkspaceView(words, workspace, fallbackLocale)
      return [{ type: eventTypeOf('workspace', status), subject: id, workspaceId: id, forOperators: true, data }]
    },
  }
}
