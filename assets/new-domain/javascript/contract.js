/* The operations of card orders. A front end passes this module to `createClient({ contract: [cardOrders] })`. */
import { bizId, member, operation, text, timestamp, z } from 'portico/contract'

export const codes = { 'CARD_ORDER.EXISTS': { status: 409 } }

const inWorkspace = { ...member, workspace: 'optional' }

const CardOrder = z.object({ bizId, name: z.string(), createdAt: timestamp })

export const createCardOrder = operation({
  id: 'cardOrders.create',
  method: 'POST',
  path: '/card-orders',
  chains: ['consumer', 'api'],
  summary: 'Create a card order',
  policy: { ...inWorkspace, permission: 'card-order:create', idempotent: true },
  body: z.strictObject({ name: text(100) }),
  reply: CardOrder,
  refuses: ['CARD_ORDER.EXISTS'],
})

export const readCardOrder = operation({
  id: 'cardOrders.read',
  method: 'GET',
  path: '/card-orders/{card_order_id}',
  chains: ['consumer', 'api'],
  summary: 'Read a card order',
  policy: { ...inWorkspace, permission: 'card-order:read' },
  body: 'none',
  reply: CardOrder,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const listCardOrders = operation({
  id: 'cardOrders.list',
  method: 'GET',
  path: '/card-orders',
  chains: ['consumer', 'api'],
  summary: 'List the 100 newest card orders',
  policy: { ...inWorkspace, permission: 'card-order:read' },
  body: 'none',
  reply: z.array(CardOrder),
  refuses: [],
})
