import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  {
    path: '/workspaces',
    load: () => import('./workspaces.tsx'),
    permission: 'workspace:read',
    entry: 'workspaces.title',
  },
  { path: '/workspaces/:workspaceId', load: () => import('./workspace.tsx'), permission: 'workspace:read' },
  { path: '/orders', load: () => import('./orders.tsx'), entry: 'workspaces.orders' },
  { path: '/postings/:orderId', load: () => import('./postings.tsx'), permission: 'ledger:read' },
]
