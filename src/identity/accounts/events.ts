import { eventTypeOf } from '../../contract/events/event.ts'
import { toAccountView, toOperatorView } from '../../contract/shared-schemas.ts'
import { fallbackLocale, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { accountOfRecord } from './store.ts'

/** The domains `operators` and `proposals` declare them, with the permissions to read accounts and operators. */
export function accountEvents(words: Words): EventMapper {
  return {
    source: 'accounts',
    toEvents: async ({ old: before, new: after }, tx) => {
      const was = before === null ? null : await accountOfRecord(tx, before)
      const account = await accountOfRecord(tx, after)
      const of = { subject: account.id, workspaceId: null, forOperators: true }
      const hasPermissions = (was?.permissions ?? []).join() !== account.permissions.join()
      return [
        ...(was?.status === account.status
          ? []
          : [
              {
                ...of,
                type: eventTypeOf('account', account.status),
                data: toAccountView(words, account, fallbackLocale),
              },
            ]),
        ...(hasPermissions
          ? [{ ...of, type: 'operator.permissions_changed', data: toOperatorView(words, account, fallbackLocale) }]
          : []),
      ]
    },
  }
}
