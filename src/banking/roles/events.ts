import { fallbackLocale, type Permission, type Words } from '../../kernel/index.ts'
import type { Change, EventMapper } from '../../platform/events/index.ts'
import type { events } from './contract.ts'
import { roleOfRecord } from './store.ts'
import { toRoleView } from './view.ts'

/** `permissions` are those of a workspace. */
export function roleEvents(words: Words, permissions: readonly Permission[]): EventMapper {
  return {
    source: 'roles',
    toEvents: async (change, tx) => {
      const role = await roleOfRecord(tx, change.new ?? change.old)
      const { bizId: subject, workspaceBizId: workspaceId } = role
      const data = toRoleView(words, role, permissions, fallbackLocale)
      return [{ type: typeOf(change), subject, workspaceId, forOperators: true, data }]
    },
  }
}

function typeOf({ old: before, new: after }: Change): keyof typeof events {
  if (before === null) return 'role.created'
  return after === null ? 'role.deleted' : 'role.changed'
}
