import { z } from 'zod'
import { fallbackLocale, type Words } from '../../../kernel/index.ts'
import type { Change, EventMapper } from '../../../platform/events/index.ts'
import type { events } from '../contract.ts'
import { toMemberView } from '../view.ts'
import { memberOfRecord } from './store.ts'

export function memberEvents(words: Words): EventMapper {
  return {
    source: 'memberships',
    toEvents: async (change, tx) => {
      const member = await memberOfRecord(tx, change.new ?? change.old)
      const { accountId: subject, workspaceId } = member
      const data = toMemberView(words, member, fallbackLocale)
      return typesOf(change).map((type) => ({ type, subject, workspaceId, forOperators: true, data }))
    },
  }
}

const Watched = z.object({
  role_biz_id: z.string(),
  suspended_at: z.string().nullable(),
  policy_config: z.unknown().transform((limits) => JSON.stringify(limits)),
})

function typesOf(change: Change): (keyof typeof events)[] {
  if (change.old === null) return ['member.joined']
  if (change.new === null) return ['member.removed']
  const [before, after] = [Watched.parse(change.old), Watched.parse(change.new)]
  const suspension = after.suspended_at === null ? 'member.restored' : 'member.suspended'
  return [
    ...(before.role_biz_id === after.role_biz_id ? [] : ['member.role_changed' as const]),
    ...(before.suspended_at === after.suspended_at ? [] : ([suspension] as const)),
    ...(before.policy_config === after.policy_config ? [] : ['member.limits_changed' as const]),
  ]
}
