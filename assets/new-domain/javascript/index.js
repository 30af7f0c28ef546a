/* The domain of card orders: permissions, texts, table and handlers. Start reading with contract.js. */
import { domain, notFound, Refusal, toIso } from 'portico'
import * as contract from './contract.js'
import { deleteCardOrders, findCardOrder, insertCardOrder, migrations, selectCardOrders } from './store.js'

const toView = (row) => ({
  bizId: row.bizId,
  name: row.name,
  createdAt: toIso(row.createdAt),
})

export default domain({
  name: 'cardOrders',
  summary: 'The card orders of a workspace.',
  operations: contract,
  codes: contract.codes,
  permissions: { workspace: { 'card-order': ['read', 'create'] } },
  locales: new URL('./locales/', import.meta.url),
  migrations,
  needs: ['clock', 'database', 'ids', 'once'],
  create: ({ clock, database, ids, once }) => ({
    handlers: {
      createCardOrder: (request) =>
        once(request, async (tx) => {
          const workspaceId = request.workspace.id
          const created = { bizId: ids.next(), name: request.body.name, createdAt: new Date(clock.now()) }
          const row = await insertCardOrder(tx, workspaceId, created)
          if (!row) throw new Refusal('CARD_ORDER.EXISTS')
          return toView(row)
        }),
      readCardOrder: async ({ params, workspace }) => {
        const row = await findCardOrder(database, workspace.id, params.card_order_id)
        if (!row) throw notFound()
        return toView(row)
      },
      listCardOrders: async ({ workspace }) => (await selectCardOrders(database, workspace.id)).map(toView),
    },
    onSandboxReset: (tx, { workspaceId }) => deleteCardOrders(tx, workspaceId),
  }),
})
