import { toPortalView } from '../../contract/shared-schemas.ts'
import { fallbackLocale, toIso, toIsoOrNull, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { sessionOfRecord } from './store.ts'

/** The domain `operators` declares them. A session that expires does not change, and so makes no event. */
export function sessionEvents(words: Words): EventMapper {
  return {
    source: 'sessions',
    toEvents: async ({ new: record }, tx) => {
      const { id, accountId, portal, loginAt, endedAt, endReason } = await sessionOfRecord(tx, record)
      const data = {
        bizId: id,
        accountBizId: accountId,
        accountPortal: toPortalView(words, portal, fallbackLocale),
        startedAt: toIso(loginAt),
        endedAt: toIsoOrNull(endedAt),
        endReason,
      }
      const type = endedAt === null ? 'session.started' : 'session.ended'
      return [{ type, subject: id, workspaceId: null, forOperators: true, data }]
    },
  }
}
