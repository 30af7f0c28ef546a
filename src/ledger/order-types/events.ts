import { eventTypeOf } from '../../contract/events/event.ts'
import type { LifeCycle } from '../../contract/ledger/life-cycle.ts'
import { fallbackLocale, type Words } from '../../kernel/index.ts'
import type { EventMapper } from '../../platform/events/index.ts'
import { type Order, storedOrder } from '../order.ts'
import type { Viewer } from '../order-view.ts'

/** The events of an order type: a trigger of the ledger records each status in which a transaction leaves an order. */
export function orderEvents(
  { name }: Pick<LifeCycle, 'name'>,
  words: Words,
  view: (order: Order, viewer: Viewer) => object,
): EventMapper {
  return {
    source: `orders/${name}`,
    toEvents: ({ new: row }) => {
      const order = storedOrder.parse(row)
      const type = eventTypeOf(name, order.status)
      const { bizId: subject, workspaceBizId, counterpartyWorkspaceBizId: counterparty } = order
      const seenBy = (workspaceId: typeof workspaceBizId) => ({
        type,
        subject,
        workspaceId,
        forOperators: workspaceId === workspaceBizId,
        data: view(order, { workspace: workspaceId, words, locale: fallbackLocale }),
      })
      // As in lists, the counterparty sees completed orders only.
      const isShared = counterparty !== null && order.status === 'COMPLETED'
      return isShared ? [seenBy(workspaceBizId), seenBy(counterparty)] : [seenBy(workspaceBizId)]
    },
  }
}
