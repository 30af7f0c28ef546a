import type { AppPage } from '../../kit/pages.tsx'

export const pages: readonly AppPage[] = [
  { path: '/exchanges', load: () => import('./exchanges.tsx'), permission: 'exchange:read', entry: 'exchanges.title' },
  { path: '/exchanges/new', load: () => import('./new-exchange.tsx'), permission: 'exchange:create' },
  { path: '/exchanges/:exchangeId', load: () => import('./exchange.tsx'), permission: 'exchange:read' },
]
