import { eventTypeOf } from '../../contract/events/event.ts'
import { fallbackLocale, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { type ApiKeySettings, statusAt } from './rules.ts'
import { keyOfRecord } from './store.ts'
import { toApiKeyView } from './view.ts'

export function apiKeyEvents(ports: { words: Words; settings: ApiKeySettings }): EventMapper {
  return {
    source: 'api_keys',
    toEvents: async ({ new: record, at }, tx) => {
      const key = await keyOfRecord(tx, record)
      const status = statusAt(key, at, ports.settings)
      // Its readers see it as EXPIRED before the change and after it.
      if (status === 'EXPIRED') return []
      const { bizId: subject, workspaceBizId: workspaceId } = key
      const data = toApiKeyView(ports, key, at, fallbackLocale)
      return [{ type: eventTypeOf('api_key', status), subject, workspaceId, forOperators: true, data }]
    },
  }
}
