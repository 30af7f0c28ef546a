import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/transfers', load: () => import('./transfers.tsx'), permission: 'transfer:read', entry: 'transfers.title' },
  { path: '/transfers/new', load: () => import('./new-transfer.tsx'), permission: 'transfer:create' },
  { path: '/transfers/:orderId', load: () => import('./transfer.tsx'), permission: 'transfer:read' },
]
